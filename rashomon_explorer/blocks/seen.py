"""What blocks were when they were looked at first, to notice if somebody writes to their source."""

import hashlib
import zlib
from dataclasses import dataclass
from typing import NamedTuple

from rashomon_explorer.array_types import FloatArray


class Digest(NamedTuple):
    """What a block is recognised by.

    Parameters
    ----------
    quick : int
        CRC-32, checked in every pass.
    strong : bytes
        SHA-256, of which the rows' version is made.
    """

    quick: int
    strong: bytes


@dataclass(frozen=True)
class Seen:
    """Digests of all blocks, in their order.  Curator: they are computed from private rows.

    Parameters
    ----------
    digests : tuple of Digest

    Examples
    --------
    >>> import numpy as np
    >>> seen = Seen(look(np.eye(2), np.zeros(2)))
    >>> seen.agrees(0, np.eye(2), np.zeros(2)), seen.agrees(0, np.eye(2), np.ones(2))
    (True, False)
    """

    digests: tuple[Digest, ...]

    @property
    def version(self) -> bytes:
        """32 bytes by which the rows, as the sums see them, are told from others."""
        whole = hashlib.sha256()
        for digest in self.digests:
            whole.update(digest.strong)
        return whole.digest()

    def agrees(self, index: int, rows: FloatArray, targets: FloatArray) -> bool:
        """Whether a block is what it was, but for one change in 2³²."""
        return self.digests[index].quick == _quick(rows, targets)


def look(rows: FloatArray, targets: FloatArray) -> tuple[Digest]:
    """Digest of a block's rows and targets, bit by bit.

    Parameters
    ----------
    rows : ndarray of shape (m, d)
    targets : ndarray of shape (m,)
    """
    strong = hashlib.sha256(rows.data)
    strong.update(targets.data)
    return (Digest(_quick(rows, targets), strong.digest()),)


def _quick(rows: FloatArray, targets: FloatArray) -> int:
    return zlib.crc32(targets.data, zlib.crc32(rows.data))
