"""What every set has of files: it writes itself to one."""

from os import PathLike
from typing import Self

from rashomon_explorer.rashomon_set.files import save
from rashomon_explorer.rashomon_set.parts import Arrays, Values


class Saved:
    """A set that can be written to a file; ``load`` of its own type reads it."""

    def to_parts(self) -> tuple[Arrays, Values]:
        """Arrays and JSON values for a file."""
        raise NotImplementedError

    @classmethod
    def from_parts(cls, arrays: Arrays, values: Values) -> Self:
        """Inverse of :meth:`to_parts`."""
        raise NotImplementedError

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the set to one file of arrays and JSON, without pickle.

        The file is written beside its place and then moved there, so that no half of it is ever
        found. Numbers come back to the last bit. A curator's file can be read by its owner alone.

        Parameters
        ----------
        path : path-like
            Usually ``"something.npz"``; used as it is.
        overwrite : bool, default=False
            Whether a file that is already there may be replaced.

        Raises
        ------
        FileExistsError
            If there is a file and ``overwrite`` is False.
        TypeError
            If a class label is neither text, number, truth value nor None; and for fitted models,
            which only pickle could write and no one should load: ``stored(X).save(path)`` keeps
            what they predict.
        """
        save(self, path, overwrite=overwrite)
