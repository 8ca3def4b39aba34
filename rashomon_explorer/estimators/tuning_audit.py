"""Audit of what the selection of one penalty reveals, by ordinary tuning and by a private draw."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import RidgeCV

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.data.cells import clip_rows
from rashomon_explorer.estimators.bilevel_search import DPBilevelSearch
from rashomon_explorer.exceptions import PrivacyLeakWarning, SamplerError
from rashomon_explorer.mechanisms.finite_grid import FiniteGridSampler
from rashomon_explorer.mechanisms.penalties import PenaltyLandscape
from rashomon_explorer.mechanisms.penalties.constants import MARGINS
from rashomon_explorer.mechanisms.penalties.plan import TuningPlan
from rashomon_explorer.problem.problem import add_intercept

_VALIDATION_ROWS = 200
_FITS = 20
_MOST_ROWS_FITTED = 20_000


@dataclass(frozen=True)
class TuningAudit:
    """Validation losses on a grid of penalties, and what a selection reveals; for the curator.

    Attributes
    ----------
    penalties, losses, law : ndarray of shape (N,)
        The grid, its validation losses, and the probability of each in a private draw.
    psi : float
        Rashomon threshold.
    plain : float
        Penalty of least validation loss, which ordinary tuning reveals.
    plain_moved, plain_of : int
        Number of validation rows whose change alters this choice, and number of rows tested.
    odds : float
        Largest change of the log odds of two penalties in a private draw, over these rows.
    ridge_cv : float
        Penalty selected by ``RidgeCV`` on all rows, by leave-one-out validation.
    ridge_moved, ridge_of : int
        Number of rows whose change alters its choice, and number of rows tested.
    plan : TuningPlan
    """

    penalties: FloatArray
    losses: FloatArray
    law: FloatArray
    psi: float
    plain: float
    plain_moved: int
    plain_of: int
    odds: float
    ridge_cv: float
    ridge_moved: int
    ridge_of: int
    plan: TuningPlan

    @property
    def good(self) -> Mask:
        """Whether each penalty of the grid is in the Rashomon set (N,)."""
        return np.asarray(self.losses <= self.losses.min() + self.psi)


def audit_tuning(search: DPBilevelSearch, X: ArrayLike, y: ArrayLike) -> TuningAudit:
    """Measure what tuning reveals about these rows; charges nothing, for the curator only.

    Each tested record is changed to the other label, or to the farther bound of the target.

    Parameters
    ----------
    search : DPBilevelSearch
        With one penalty and a mechanism on a grid; no penalty is drawn.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)

    Returns
    -------
    TuningAudit
        For the curator only: not private.

    Raises
    ------
    SamplerError
        If the search has several penalties, or a mechanism that is not on a grid.

    Warns
    -----
    PrivacyLeakWarning
        Always, because the results are computed from rows without noise.

    Examples
    --------
    >>> from rashomon_explorer import load_dataset
    >>> data = load_dataset("breast_cancer")
    >>> search = DPBilevelSearch("logistic", bounds=(0.1, 10.0), refit=None, classes=[0, 1])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     found = audit_tuning(search, data.X / 100, data.y)
    >>> found.odds <= found.plan.eta, bool(found.good.any())
    (True, True)
    """
    warnings.warn(
        "the audit of tuning is computed from the rows without noise: it is for the curator",
        PrivacyLeakWarning,
        stacklevel=2,
    )
    table = search._table(X, y)
    planned = search._planned(*table.shape)
    if not isinstance(planned, TuningPlan) or planned.d != 1:
        raise SamplerError(
            "the audit looks at one penalty on a grid: use penalty='scalar' and "
            "mechanism='exponential' or 'generalised'"
        )
    targets = search._encoded_target(table)
    design = add_intercept(clip_rows(table.values[0], search._row_norm)[0])
    landscape = search._landscape(design, targets, planned)
    sampler = FiniteGridSampler(spacing=planned.spacing)
    points = sampler.points(1, landscape.domain)
    penalties = landscape.box.group_penalties(points)[0]
    fits = np.stack([landscape.model(x).y for x in points.T], axis=1)
    losses = landscape.outer.value(fits)
    energy = planned.target(landscape, sampler).energy
    moved = _moved_validation(landscape, fits)
    logs = _log_law(energy, losses)
    log_changes = [_log_law(energy, losses + step) - logs for step in moved]
    picks = [int(np.argmin(losses + step)) for step in moved]
    feature_rows = design[:, :-1][:_MOST_ROWS_FITTED]
    selected, selections = _ridge_cv(feature_rows, targets[:_MOST_ROWS_FITTED], penalties)
    return TuningAudit(
        penalties=penalties,
        losses=losses,
        law=np.exp(logs),
        psi=planned.psi,
        plain=float(penalties[int(losses.argmin())]),
        plain_moved=sum(pick != int(losses.argmin()) for pick in picks),
        plain_of=len(picks),
        odds=max(float(np.ptp(gap)) for gap in log_changes),
        ridge_cv=selected,
        ridge_moved=sum(selection != selected for selection in selections),
        ridge_of=len(selections),
        plan=planned,
    )


def _log_law(energy: Any, losses: FloatArray) -> FloatArray:
    logs = -energy(losses - losses.min())
    return np.asarray(logs - np.logaddexp.reduce(logs))


def _moved_validation(landscape: PenaltyLandscape, fits: FloatArray) -> list[FloatArray]:
    """Change of every penalty's loss (N,) if one of some validation rows changes, for each row."""
    outer, positions = landscape.outer, _evenly(landscape.outer.n, _VALIDATION_ROWS)
    margins = outer.rows[positions] @ fits
    if outer.margin_bound is not None:
        margins = np.clip(margins, -outer.margin_bound, outer.margin_bound)
    targets, loss = outer.targets[positions][:, None], MARGINS[outer.estimator]
    before, after = (loss.row_losses(margins, b) for b in (targets, _changed(targets)))
    return [*((after - before) / outer.n)]


def _ridge_cv(
    rows: FloatArray, targets: FloatArray, penalties: FloatArray
) -> tuple[float, list[float]]:
    """Penalty selected by ``RidgeCV``, and its selections if one of some rows is changed."""
    alphas = penalties * len(rows)

    def best_penalty(known: FloatArray) -> float:
        return float(RidgeCV(alphas).fit(rows, known).alpha_ / len(rows))

    selections = []
    for row in _evenly(len(rows), _FITS):
        known = targets.astype(float).copy()
        known[row] = _changed(known[row])
        selections.append(best_penalty(known))
    return best_penalty(targets), selections


def _changed(targets: Any) -> Any:
    """Return the other label, or the farther end of [−1, 1]."""
    return np.where(targets > 0, -1.0, 1.0)


def _evenly(n: int, max_rows: int) -> FloatArray:
    return np.unique(np.linspace(0, n - 1, min(n, max_rows)).round().astype(int))
