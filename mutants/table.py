"""What was caught and what survived, as a table for people."""

from pathlib import Path

from mutants.mutation import ROOT, Mutation
from mutants.runner import Result

PAGE = ROOT / "docs" / "audit.md"
_BEGIN = "<!-- mutants: written by `make mutants` -->\n"
_END = "<!-- end of mutants -->\n"


def table(results: list[Result]) -> str:
    """Markdown: one line a mutation, and the count."""
    caught = sum(bool(result.caught_by) for result in results)
    survived = sum(result.survived for result in results)
    lines = [
        f"{len(results)} wrong constants: {caught} caught, {survived} survived.\n",
        "| where | change | the claim, and what became of it | caught by |",
        "|---|---|---|---|",
        *map(_line, results),
    ]
    return "\n".join(lines) + "\n"


def write(results: list[Result], page: Path = PAGE) -> None:
    """Put the table between the two marks of the page."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not end:
        raise ValueError(f"{page} has no place for the table: {_BEGIN!r} and {_END!r} mark it")
    page.write_text(f"{before}{_BEGIN}\n{table(results)}\n{_END}{after}", encoding="utf-8")


def _line(result: Result) -> str:
    mutation = result.mutation
    where = mutation.file.removeprefix("rashomon_explorer/")
    by = f"`{result.caught_by.removeprefix('tests/')}`" if result.caught_by else _fate(result)
    return f"| `{where}` | {_change(mutation)} | {mutation.claim} | {by} |"


def _fate(result: Result) -> str:
    if result.broken:
        return f"**did not run**: {result.broken}"
    return f"survives: {result.mutation.reason}" if result.mutation.reason else "**SURVIVED**"


def _change(mutation: Mutation) -> str:
    old, new = (_code(part) for part in (mutation.old, mutation.new))
    return f"{old} → {new}"


def _code(text: str) -> str:
    plain = " ".join(text.split()).replace("|", "\\|")
    return f"`{plain}`" if plain else "nothing"
