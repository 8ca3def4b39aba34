"""The report's templates: every word that is put into one is escaped, unless it says it is HTML."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup


def block(kind: str, *values: Any) -> Markup:
    """Write a block with the macro of that name."""
    return Markup(getattr(_environment().get_template("blocks.html").module, kind)(*values))


def page(**values: Any) -> str:
    """Write the whole file."""
    return _environment().get_template("page.html").render(**values)


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,  # a name that was mistyped is an error and no gap
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
