"""One model in fairlearn's own hands."""

import importlib
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.measures.fairness.rates import LABEL_RATES, Groups, GroupsLike, Judged

if TYPE_CHECKING:
    from fairlearn.metrics import MetricFrame


def fairness_frame(
    labels: ArrayLike,
    y: ArrayLike,
    groups: GroupsLike,
    *,
    positive: Any = None,
    **options: Any,
) -> "MetricFrame":
    """Fairlearn's MetricFrame of one model's labels: every rate of ``LABEL_RATES``, and counts.

    For what fairlearn does with it: ``by_group``, ``difference()``, ``ratio()``, ``group_min()``,
    its figures. Labels count as the positive one or the rest, but for the accuracy. A rate of a
    group without a row to count is 0 here, which is fairlearn's convention.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        One model's labels.
    y : array-like of shape (n_rows,)
    groups : array-like of shape (n_rows,), or table of shape (n_rows, n_attributes)
    positive : label, optional
        As in :func:`fairness_gaps`.
    **options
        Of MetricFrame: ``n_boot``, ``ci_quantiles`` and ``random_state`` for bootstrap intervals.

    Returns
    -------
    fairlearn.metrics.MetricFrame
        By group, and over all rows.

    Raises
    ------
    ValueError
        As :func:`fairness_gaps`.
    ImportError
        If fairlearn is not installed.

    Examples
    --------
    >>> frame = fairness_frame([1, 0, 1, 1], [1, 0, 0, 1], ["a", "a", "b", "b"])
    >>> float(frame.difference()["selection_rate"]), frame.by_group["count"].tolist()
    (0.5, [2.0, 2.0])
    """
    one = np.asarray(labels)
    if one.ndim != 1:
        raise ValueError(f"labels must be one model's, of shape (n_rows,), got {one.shape}")
    judged = Judged.of(one[None, :], y, positive)
    found = Groups.of(groups, len(one))
    fairlearn = _fairlearn()
    return fairlearn.MetricFrame(
        metrics=_metrics(fairlearn, judged.positive),
        y_true=judged.truth.astype(int),
        y_pred=judged.codes[0].astype(int),
        sensitive_features=found.table(),
        **options,
    )


def _metrics(fairlearn: ModuleType, positive: int) -> dict[str, Any]:
    named = {name: getattr(fairlearn, name, None) for name in LABEL_RATES}
    rates = {name: partial(_of_positive, rate, positive) for name, rate in named.items() if rate}
    return {"count": fairlearn.count, **rates, "accuracy_score": _accuracy}


def _of_positive(rate: Any, positive: int, y_true: Any, y_pred: Any) -> float:
    of_class = ((np.asarray(codes) == positive).astype(int) for codes in (y_true, y_pred))
    return float(rate(*of_class, pos_label=1))


def _accuracy(y_true: NDArray[np.int_], y_pred: NDArray[np.int_]) -> float:
    return float(np.mean(np.asarray(y_true) == np.asarray(y_pred)))


def _fairlearn() -> ModuleType:
    # Not at the top: it brings scipy.stats, and takes longer to import than this whole package.
    try:
        return importlib.import_module("fairlearn.metrics")
    except ImportError as error:
        raise ImportError(
            "a MetricFrame needs fairlearn, which is not installed: "
            "pip install 'rashomon-explorer[fairness]'"
        ) from error
