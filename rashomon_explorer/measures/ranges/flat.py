"""Directions along which a penalised objective is flat: collinear columns without a penalty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, Mask

_CLEARLY_CURVED = 1e-6  # share of the largest eigenvalue of a Gram matrix of scaled columns
_IN_ROW_SPACE = 1e-9  # share of a direction's norm along the flat that counts as rounding


@dataclass(frozen=True)
class RowSpace:
    """Split of R^p, in columns of scale 1, into the flat directions and their complement."""

    scale: FloatArray  # (p,): > 0
    flat: FloatArray  # (p, f): orthonormal
    curved: FloatArray  # (p, r): orthonormal, orthogonal to ``flat``

    @classmethod
    def of(cls, rows: FloatArray, penalised: Mask) -> RowSpace:
        """Split for a loss of the scores of ``rows`` (n, p) and a penalty of some parameters."""
        scale = np.sqrt(np.einsum("ij,ij->j", rows, rows) / len(rows))
        scale = np.where(scale > 0, scale, 1.0)
        free = np.flatnonzero(~penalised)
        null = _null_space(rows[:, free] / scale[free])
        flat = np.zeros((len(scale), null.shape[1]))
        flat[free] = null
        if not flat.shape[1]:
            return cls(scale, flat, np.eye(len(scale)))
        basis = np.linalg.qr(flat, mode="complete")[0]
        return cls(scale, flat, basis[:, flat.shape[1] :])

    def of_classes(self, classes: int, penalised: Mask, shift: bool) -> RowSpace:
        """Split for one score per class, where a common shift of all scores may be flat too."""
        scale, same = np.tile(self.scale, classes), np.full((classes, 1), classes**-0.5)
        flat: FloatArray = np.kron(np.eye(classes), self.flat).astype(float)
        if shift:
            centred = np.linalg.qr(same, mode="complete")[0][:, 1:]
            each = np.eye(len(self.scale))[:, ~penalised]
            flat = np.hstack([np.kron(centred, self.flat), np.kron(same, each)])
        basis = np.linalg.qr(flat, mode="complete")[0]
        return RowSpace(scale, flat, basis[:, flat.shape[1] :])

    @property
    def frame(self) -> FloatArray:
        """Matrix (p, r) whose columns span the models that differ in some score or penalty."""
        return self.curved / self.scale[:, None]

    def contains(self, directions: FloatArray) -> Mask:
        """Whether a·θ is the same for equivalent models, for each column a of (p, K)."""
        scaled = directions / self.scale[:, None]
        along = np.linalg.norm(self.flat.T @ scaled, axis=0)
        return np.asarray(along <= _IN_ROW_SPACE * np.linalg.norm(scaled, axis=0))


def _null_space(table: FloatArray) -> FloatArray:
    """Orthonormal basis (p, f) of the directions along which all rows of (n, p) are 0."""
    n, p = table.shape
    if n >= p:
        eigenvalues = np.linalg.eigvalsh(table.T @ table) if p else np.ones(1)
        if eigenvalues[0] > _CLEARLY_CURVED * eigenvalues[-1]:
            return np.empty((p, 0))
        table = np.asarray(np.linalg.qr(table, mode="r"))
    _, sizes, vectors = np.linalg.svd(table)
    rounding = max(n, p) * np.finfo(float).eps * sizes[0]
    return np.asarray(vectors[int((sizes > rounding).sum()) :].T)
