"""Small pieces of HTML; every word that came from outside is escaped here."""

from collections.abc import Iterable, Mapping
from html import escape

import pandas as pd

from rashomon_explorer.explorer.definitions import Definition, defined
from rashomon_explorer.plots.tables import rounded_bounds

_MOST_ROWS = 200


def code_block(lines: Iterable[str]) -> str:
    """Return Python lines as a block of code.

    >>> code_block(["1 < 2"])
    '<pre class="rx-code" tabindex="0"><code>1 &lt; 2</code></pre>'
    """
    return f'<pre class="rx-code" tabindex="0"><code>{escape(chr(10).join(lines))}</code></pre>'


def table_html(frame: pd.DataFrame, caption: str) -> str:
    """Return a table that a screen reader can walk through.

    At most 200 rows; the caption says how many there are. ``attrs["rounding"]`` may name columns,
    or the index, whose numbers are bounds, and the side to which they are rounded: ``"up"`` or
    ``"down"``.

    >>> "<caption>Ages (2 rows)</caption>" in table_html(pd.DataFrame({"age": [20, 30]}), "Ages")
    True
    >>> promised = pd.DataFrame({"at least": [0.66669]})
    >>> promised.attrs["rounding"] = {"at least": "down"}
    >>> "<td>0.6666</td>" in table_html(promised, "Promised")
    True
    """
    note = f"{len(frame):,} rows"
    if len(frame) > _MOST_ROWS:
        note = f"first {_MOST_ROWS} of {note}"
    # pandas gives the name of the index a row of its own, that of the columns the corner.
    shown = rounded_bounds(frame.head(_MOST_ROWS))
    shown.columns.name, shown.index.name = frame.index.name, None
    body = shown.to_html(
        border=0, float_format=lambda value: f"{value:.4g}", classes="rx-table", escape=True
    )
    for heading in map(str, shown.columns):
        plain = f"<th>{escape(heading, quote=False)}</th>"
        body = body.replace(plain, f"<th>{term(heading)}</th>", 1)
    named = body.replace(">", f"><caption>{escape(caption)} ({note})</caption>", 1)
    label = f'role="region" aria-label="{escape(caption)}"'
    return f'<div class="rx-table-box" tabindex="0" {label}>{named}</div>'


def term(word: str, *, focusable: bool = False) -> str:
    """Return a word with its definition as a tooltip; one without a definition as it is.

    >>> term("the moon")
    'the moon'
    >>> term("Draws").startswith('<abbr class="rx-term" title="models that were drawn')
    True
    """
    meant = defined(word)
    if meant is None:
        return escape(word)
    stop = ' tabindex="0"' if focusable else ""
    return f'<abbr class="rx-term"{stop} title="{escape(meant.told)}">{escape(word)}</abbr>'


def definitions_html(found: Mapping[str, Definition]) -> str:
    """Return definitions as a list, each with its formula and its line of Python."""
    return f'<dl class="rx-definitions">{"".join(_defined(*one) for one in found.items())}</dl>'


def _defined(word: str, meant: Definition) -> str:
    formula = f"<dd><i>{escape(meant.formula)}</i></dd>" if meant.formula else ""
    line = f"<dd><code>{escape(meant.line)}</code></dd>" if meant.line else ""
    return f"<dt>{escape(word)}</dt><dd>{escape(meant.meaning)}</dd>{formula}{line}"


def fact(name: str, value: str, note: str = "", *, kind: str = "") -> str:
    """Return one number with its name, for a list of facts.

    ``kind="curator"`` marks a number that was read from private rows.

    >>> fact("models", "20")
    '<div class="rx-fact "><dt>models</dt><dd>20</dd></div>'
    """
    small = f'<dd class="rx-note">{escape(note)}</dd>' if note else ""
    return (
        f'<div class="rx-fact {escape(kind)}"><dt>{term(name, focusable=True)}</dt>'
        f"<dd>{escape(value)}</dd>{small}</div>"
    )
