"""The view of a set that may leave the building."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.hooks import carry_out
from rashomon_explorer.rashomon_set.block import ModelBlock

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
        "to_arviz",
    }
)


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

        Returns
        -------
        ReleasedSet

        Raises
        ------
        DataError
            If the file holds something else, or was written by a newer version.
        """
        from rashomon_explorer.rashomon_set.files import load

        return load(path, cls)

    def report(self, path: "str | PathLike[str]", **public: Any) -> Path:
        """Write the release's report: one HTML file of what was paid for, and public settings.

        Parameters
        ----------
        path : path-like
        **public
            ``aggregates``, ``constants``, ``domain``, ``ledger``, ``bounds``, ``target``,
            ``title``, ``date``, ``interactive`` and ``overwrite``, as in
            :func:`rashomon_explorer.report.release_report`; there is none for rows.

        Returns
        -------
        pathlib.Path

        Examples
        --------
        >>> import tempfile
        >>> from rashomon_explorer import RashomonClassifier
        >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
        >>> models = RashomonClassifier(n_draws=5, epsilon=80.0).fit(X, y).rashomon_set_
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     models.release().report(folder + "/card.html", interactive=False).name
        'card.html'
        """
        written: Path = carry_out("release_report", self, path, **public)
        return written

    def __getattr__(self, name: str) -> NoReturn:
        if name in CURATOR_ONLY:
            raise CuratorOnlyError(f"{name} is computed from private rows: not in a release")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
