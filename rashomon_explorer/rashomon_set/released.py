"""The view of a set that may leave the building."""

from dataclasses import dataclass
from os import PathLike
from typing import ClassVar, NoReturn, Self

from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.rashomon_set.block import ModelBlock
from rashomon_explorer.rashomon_set.files import load, written_as

CURATOR_ONLY = frozenset(
    {
        "losses",
        "excess",
        "hit_rate",
        "minimum",
        "least",
        "best",
        "best_scores",
        "clipped_share",
        "acceptance",
        "inside",
        "intersect",
        "narrowed",
        "notes",
        "reaches_sphere",
        "rethreshold",
        "share_within",
        "to_arviz",
    }
)


@written_as("release", reader="ReleasedSet.load", public=True)
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReleasedSet(ModelBlock):
    """What may leave the building: paid draws, their guarantee, and public settings."""

    _curated: ClassVar[bool] = False

    @classmethod
    def load(cls, path: "str | PathLike[str]") -> Self:
        """Read a release that :meth:`save` wrote.

        Parameters
        ----------
        path : path-like

        Raises
        ------
        DataError
            If the file holds something else, or was written by a newer version.
        """
        return load(path, cls)

    def __getattr__(self, name: str) -> NoReturn:
        if name in CURATOR_ONLY:
            raise CuratorOnlyError(f"{name} is computed from private rows: not in a release")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
