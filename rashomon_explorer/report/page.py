"""The whole file: head, table of contents, sections, what was left out, and why."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup
from plotly.offline import get_plotlyjs

from rashomon_explorer._utils.progress import progress
from rashomon_explorer.plots.theme import templates
from rashomon_explorer.report.blocks import Block, Plot, json_for_script, render_page
from rashomon_explorer.report.sections.document import Section, Skip

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
    """A report being written."""

    title: str
    edition: str
    # whether figures are drawn by a script in the file; without it there are tables alone
    interactive: bool = True
    figures: int = 0

    def next_id(self) -> str:
        """See `Sheet.next_id`."""
        self.figures += 1
        return f"figure-{self.figures}"

    def write(self, sections: Sequence[Section], material: Any) -> str:
        """Make every section and put them together."""
        made: list[tuple[Section, list[Markup]]] = []
        left_out: dict[str, str] = {}
        suited = [one for one in sections if one.suits(getattr(material, "models", None))]
        for section in progress(suited, "report"):
            try:
                blocks = section.make(material)
            except Skip as error:
                left_out[section.title] = str(error)
            else:
                made.append((section, self._written(section, blocks)))
        return self._document(made, left_out)

    def _written(self, section: Section, blocks: Iterable[Block]) -> list[Markup]:
        inside = []
        for block in blocks:
            self._check(section, block)
            inside.append(block.html(self))
        return inside

    def _check(self, section: Section, block: Block) -> None:
        """Keep a curator's figure out of a release, and an unmarked one out of a curator's."""
        view = getattr(block, "view", None) if isinstance(block, Plot) else None
        private = view in _CURATOR_VIEWS or section.view in ("curator", "internal")
        if self.edition == "release" and private:
            raise AssertionError(f"{section.key} shows the curator's view in a release")
        if section.view == "curator" and view not in (None, *_CURATOR_VIEWS):
            raise AssertionError(f"a figure of {section.key} carries no curator's band")

    def _document(
        self, made: Sequence[tuple[Section, list[Markup]]], left_out: dict[str, str]
    ) -> str:
        scripts = [get_plotlyjs(), _shipped("report.js")] if self.interactive else []
        return render_page(
            title=self.title,
            edition=self.edition,
            banner=BANNERS[self.edition],
            badges=BADGES,
            sections=made,
            left_out=left_out,
            policy=Markup(_policy(scripts)),
            style=Markup(_shipped("report.css")),
            looks=Markup(json_for_script(templates())),
            scripts=[Markup(script) for script in scripts],
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
