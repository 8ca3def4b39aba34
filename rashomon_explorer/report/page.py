"""The whole file: head, table of contents, sections, what was left out, and why."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from plotly.offline import get_plotlyjs

from rashomon_explorer.plots.theme import templates
from rashomon_explorer.report.blocks import Block, Plot
from rashomon_explorer.report.figures import json_for_script
from rashomon_explorer.report.sections.base import Section, Skip

BADGES = {
    "curator": "Curator: computed from private rows, not private",
    "release": "Released: paid for",
    "public": "Public: no row was read for it",
    "internal": "Internal: settings, prices and names; not for release",
}
BANNERS = {
    "curator": f"{BADGES['curator']}. Not for release.",
    "release": "Release: paid draws, paid aggregates and public settings, and nothing else",
}
_CURATOR_VIEWS = ("curator", "none")


@dataclass
class Page:
    """A report being written.

    Parameters
    ----------
    title : str
    edition : {"curator", "release"}
    interactive : bool
        Whether figures are drawn by a script in the file; without it there are tables alone.
    """

    title: str
    edition: str
    interactive: bool = True
    figures: int = 0

    def next_id(self) -> str:
        """See `Sheet.next_id`."""
        self.figures += 1
        return f"figure-{self.figures}"

    def write(self, sections: Sequence[Section], material: Any) -> str:
        """Make every section and put them together."""
        made: list[tuple[Section, str]] = []
        left_out: dict[str, str] = {}
        for section in sections:
            try:
                blocks = section.make(material)
            except Skip as error:
                left_out[section.title] = str(error)
            else:
                made.append((section, self._section(section, blocks)))
        body = "".join(html for _, html in made) + _left_out(left_out)
        return self._document([section for section, _ in made], body)

    def _section(self, section: Section, blocks: Iterable[Block]) -> str:
        inside = []
        for block in blocks:
            self._check(section, block)
            inside.append(block.html(self))
        return (
            f'<section id="{section.key}" class="{section.view}" aria-labelledby="h-{section.key}">'
            f'<h2 id="h-{section.key}">{escape(section.title)}</h2>'
            f'<p class="badge {section.view}">{BADGES[section.view]}</p>{"".join(inside)}</section>'
        )

    def _check(self, section: Section, block: Block) -> None:
        """Keep a curator's figure out of a release, and an unmarked one out of a curator's."""
        view = getattr(block, "view", None) if isinstance(block, Plot) else None
        private = view in _CURATOR_VIEWS or section.view in ("curator", "internal")
        if self.edition == "release" and private:
            raise AssertionError(f"{section.key} shows the curator's view in a release")
        if section.view == "curator" and view not in (None, *_CURATOR_VIEWS):
            raise AssertionError(f"a figure of {section.key} carries no curator's band")

    def _document(self, sections: Sequence[Section], body: str) -> str:
        scripts = [get_plotlyjs(), _shipped("report.js")] if self.interactive else []
        contents = "".join(
            f'<li><a href="#{one.key}">{escape(one.title)}</a></li>' for one in sections
        )
        looks = (
            f'<script type="application/json" id="looks">{json_for_script(templates())}</script>'
        )
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark"><meta name="referrer" '
            f'content="no-referrer"><title>{escape(self.title)}</title>'
            f"<style>{_shipped('report.css')}</style></head>"
            f'<body class="{self.edition}">'
            f'<p class="banner" role="note">{BANNERS[self.edition]}</p>'
            f'<header><h1>{escape(self.title)}</h1></header><nav aria-label="Contents"><ol>'
            f"{contents}</ol></nav><main>{body}</main>{looks if scripts else ''}"
            f"{''.join(f'<script>{script}</script>' for script in scripts)}</body></html>\n"
        )


def _left_out(reasons: dict[str, str]) -> str:
    if not reasons:
        return ""
    items = "".join(f"<li><b>{escape(k)}:</b> {escape(v)}</li>" for k, v in reasons.items())
    return (
        '<section id="left-out" aria-labelledby="h-left-out"><h2 id="h-left-out">Not in this '
        f"report, and why</h2><ul>{items}</ul></section>"
    )


def _policy(scripts: Sequence[str]) -> str:
    """Nothing from anywhere, and no script but those of this file, by their hashes."""
    hashes = [hashlib.sha256(script.encode()).digest() for script in scripts]
    allowed = " ".join(f"'sha256-{base64.b64encode(one).decode()}'" for one in hashes) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@cache
def _shipped(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8").replace("\r\n", "\n")
