"""Results of a run as a Markdown table: what was caught, what survived."""

from pathlib import Path

from mutants.mutation import ROOT, Mutation
from mutants.runner import Result

TABLE = ROOT / "build" / "mutants.md"


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


def write(results: list[Result], path: Path = TABLE) -> None:
    """Write the table to a file; its folder is created if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# Mutations\n\n{table(results)}", encoding="utf-8")


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
