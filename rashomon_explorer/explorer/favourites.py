"""Stars and notes on models, kept with the set that they are of."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rashomon_explorer.durable_files import replace_file


@dataclass(frozen=True)
class Favourites:
    """Which models somebody keeps in mind, and why.

    Attributes
    ----------
    starred : tuple of int
        Draws, in order.
    notes : mapping of int to str
        Words by draw.

    Examples
    --------
    >>> one = Favourites().toggled(3).noted(3, "least unfair").noted(5, "")
    >>> one.starred, dict(one.notes)
    ((3,), {3: 'least unfair'})
    >>> one.toggled(3).starred
    ()
    """

    starred: tuple[int, ...] = ()
    notes: Mapping[int, str] = field(default_factory=dict)

    def toggled(self, draw: int) -> "Favourites":
        """With a star given, or taken away."""
        others = set(self.starred) ^ {draw}
        return Favourites(tuple(sorted(others)), self.notes)

    def noted(self, draw: int, words: str) -> "Favourites":
        """With words on a draw; empty ones take the note away."""
        notes = {**self.notes, draw: words.strip()}
        return Favourites(self.starred, {k: note for k, note in notes.items() if note})

    def write(self, path: Path) -> None:
        """Write them where the owner's account alone can read."""
        said = {"starred": list(self.starred), "notes": {str(k): v for k, v in self.notes.items()}}
        content = json.dumps(said, ensure_ascii=False, indent=1).encode()
        replace_file(path, lambda file: file.write(content))

    @classmethod
    def of_text(cls, text: str) -> "Favourites":
        """Inverse of :meth:`write`, of the file's text.

        Raises
        ------
        ValueError
            If it is something else.
        """
        said = json.loads(text)
        notes = {int(draw): str(words) for draw, words in said.get("notes", {}).items()}
        return cls(tuple(int(draw) for draw in said.get("starred", ())), notes)
