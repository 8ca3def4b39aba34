"""Plain values as TOML; the standard library reads it and does not write it."""

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(values: Mapping[str, Any]) -> str:
    """Write tables of plain values as TOML.

    Parameters
    ----------
    values : mapping
        Text, numbers, truth values, lists of them, and mappings of all these.

    Returns
    -------
    str
        What :func:`tomllib.loads` reads as the same values.

    Examples
    --------
    >>> print(toml_text({"columns": {"has pets": {"levels": [False, True]}}}))
    [columns."has pets"]
    levels = [false, true]
    <BLANKLINE>
    """
    return "\n".join(_tables(values, ()))


def _tables(values: Mapping[str, Any], place: tuple[str, ...]) -> list[str]:
    own = [f"{_key(key)} = {_value(one)}" for key, one in values.items() if not _is_table(one)]
    inner = [(key, one) for key, one in values.items() if _is_table(one)]
    header = [f"[{'.'.join(map(_key, place))}]"] if place and (own or not inner) else []
    texts = ["\n".join([*header, *own]) + "\n"] if header or own else []
    for key, one in inner:
        texts += _tables(one, (*place, key))
    return texts


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(value: str) -> str:
    # JSON's escapes are TOML's, but for one character that TOML wants escaped, too.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
