"""How to make the same again."""

from typing import Any

from rashomon_explorer.report.blocks import Block, Code, Words
from rashomon_explorer.report.kinds import kind_of
from rashomon_explorer.report.material import Curator, Release
from rashomon_explorer.report.sections.about import WRITER


def curator(given: Curator) -> list[Block]:
    """Write the settings of the draws as Python, and the line that made this file."""
    lines = kind_of(given.models).estimator(
        given, given.models, getattr(given.models, "sampler", "")
    )
    handed = [name for name in ("X", "y") if getattr(given, name) is not None]
    handed += [f"{n}={n}" for n in ("groups", "problem") if getattr(given, n) is not None]
    call = ", ".join(["models", '"report.html"', *handed])
    written = ["from rashomon_explorer.report import report", "", f"report({call})"]
    return _told(given, [*lines, "", *written])


def release(given: Release) -> list[Block]:
    """Write the settings of the draws as Python: public numbers alone."""
    return _told(given, kind_of(given.models).estimator(given, given.models, ""))


def _told(given: Any, lines: list[str]) -> list[Block]:
    noise = (
        "Without random_state the noise is new at every run, which is what makes it private: the "
        "same settings give other draws, with the same promises."
    )
    if given.models.guarantee.seeded:
        noise = "The draws came from a known seed, which is not written here: with it they repeat."
    return [Code([f"# {WRITER}", *lines]), Words(noise, "note")]
