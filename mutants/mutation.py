"""One wrong constant: where it goes, what it claims, and which tests should notice."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

LISTS = Path(__file__).parent / "lists"
ROOT = Path(__file__).parents[1]


class StaleMutationError(ValueError):
    """A mutation's text is not in its file exactly once: the list must be brought up to date."""


@dataclass(frozen=True)
class Mutation:
    """A change of one constant or one term that carries a claim.

    Parameters
    ----------
    file : str
        From the root of the repository.
    old, new : str
        Text that is there exactly once, and what takes its place.
    claim : str
        What would no longer be true.
    tests : tuple of str
        Files that should notice, the likeliest first.
    reason : str, default=""
        Why it may survive, if it may.
    """

    file: str
    old: str
    new: str
    claim: str
    tests: tuple[str, ...]
    reason: str = ""

    def applied(self, root: Path = ROOT) -> str:
        """Text of the file with the change.

        Raises
        ------
        StaleMutationError
            If the old text is not there exactly once, or nothing would change.
        """
        text = (root / self.file).read_text(encoding="utf-8")
        found = text.count(self.old)
        if found != 1 or self.old == self.new:
            raise StaleMutationError(
                f"{self.file}: {self.old!r} is there {found} times, and must be there once and be "
                f"changed; the claim is: {self.claim}"
            )
        return text.replace(self.old, self.new)


def load(paths: Iterable[Path] = ()) -> list[Mutation]:
    """Mutations of these TOML files, by default of all that come with the package."""
    found = []
    for path in list(paths) or sorted(LISTS.glob("*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        common = tuple(table.get("tests", ()))
        for one in table["mutation"]:
            tests = (*one.pop("tests", ()), *common)
            found.append(Mutation(**one, tests=tests))
    return found
