"""Released aggregates as JSON values that come back to the last bit."""

from dataclasses import fields, is_dataclass
from typing import Any

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.rashomon_set.parts import number, number_of
from rashomon_explorer.release.noise import GaussianNoise, LaplaceNoise
from rashomon_explorer.release.released import Answer, Released
from rashomon_explorer.release.statistic import Gap, Measured, Rate

_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (Released, Answer, Measured, Rate, Gap, GaussianNoise, LaplaceNoise)
}
_KIND, _NUMBER, _GUARANTEE = "kind", "number", "guarantee"


def released_values(released: Released) -> dict[str, Any]:
    """Plain values of released aggregates, for a file; nothing in them is unpaid.

    Parameters
    ----------
    released : Released

    Returns
    -------
    dict
        From which `released_of` makes the same again; `Released.to_dict` is for readers.
    """
    plain: dict[str, Any] = _plain(released)
    return plain


def released_of(values: dict[str, Any]) -> Released:
    """Inverse of `released_values`.

    Parameters
    ----------
    values : dict

    Returns
    -------
    Released
        As it was written.

    Raises
    ------
    DataError
        If the values are of something else.

    Examples
    --------
    >>> released_of({"kind": "Moon"})
    Traceback (most recent call last):
        ...
    rashomon_explorer.exceptions.DataError: these are no released aggregates
    """
    try:
        found = _restored(values)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError("these are no released aggregates") from error
    if not isinstance(found, Released):
        raise DataError("these are no released aggregates")
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Guarantee):
        return {_KIND: _GUARANTEE, **value.to_dict()}
    if is_dataclass(value):
        told = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return {_KIND: type(value).__name__, **told}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        written = number(value)
        return {_KIND: _NUMBER, "value": written} if isinstance(written, str) else written
    return value


def _restored(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_restored, value))
    if not isinstance(value, dict):
        return value
    kind, told = value[_KIND], {name: one for name, one in value.items() if name != _KIND}
    if kind == _GUARANTEE:
        return Guarantee.from_dict(told)
    if kind == _NUMBER:
        return number_of(told["value"])
    return _KINDS[kind](**{name: _restored(one) for name, one in told.items()})
