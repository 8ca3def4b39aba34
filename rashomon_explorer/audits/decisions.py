"""Rules by which fitted classifiers turn scores into labels, and the class that is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

from rashomon_explorer._utils.validation import check_inner_share

_NUMBERED = ({0, 1}, {-1, 1})
"""Labels of which the larger one counts as accepted unless another is named."""


def inner_model(model: Any) -> Any:
    """Model that a search, a threshold or a frozen estimator wraps; None for any other model."""
    if hasattr(model, "best_estimator_"):
        return model.best_estimator_
    if isinstance(model, FixedThresholdClassifier | TunedThresholdClassifierCV):
        return getattr(model, "estimator_", model.estimator)
    return model.estimator if isinstance(model, FrozenEstimator) else None


def model_layers(model: Any) -> Iterator[Any]:
    """Model, and what it wraps or ends with, down to the estimator that predicts."""
    while model is not None:
        yield model
        steps = getattr(model, "steps", None)
        model = steps[-1][1] if isinstance(steps, list) else inner_model(model)


def last_step(model: Any) -> Any:
    """Estimator that predicts: the last step of a pipeline, or what a search or rule wraps."""
    *_, last = model_layers(model)
    return last


@dataclass(frozen=True)
class Decision:
    """Rule that gives the label, by default ``predict``, and the class that counts as accepted."""

    classes: tuple[Any, ...]  # in the order of the fitted estimator
    threshold: float | None = None  # of the response for ``positive``, from which on it is given
    positive: Any = None  # class that the threshold is for
    response: str = ""  # "predict_proba" or "decision_function", which the threshold is of
    wanted: Any = None  # class that counts as accepted; None if nobody named one
    target: str = ""  # name of the column of targets
    replaced: bool = False  # whether the threshold takes the place of the model's ``predict``

    @classmethod
    def from_model(
        cls,
        model: Any,
        classes: tuple[Any, ...],
        target: str = "",
        threshold: float | None = None,
        wanted: Any = None,
    ) -> Self:
        """Rule of a fitted classifier, or a threshold of the probability of the wanted class."""
        if wanted is not None and wanted not in classes:
            raise ValueError(f"wanted must be one of the labels {list(classes)}, got {wanted!r}")
        rule = cls(classes, target=target)
        for layer in model_layers(model):
            if isinstance(layer, FixedThresholdClassifier | TunedThresholdClassifierCV):
                rule = rule._wrapped(layer)
                break
        if wanted is None and rule.positive is not None:
            wanted = getattr(layer, "pos_label", None)
        numbers = all(isinstance(label, bool | int | float) for label in classes)
        if wanted is None and numbers and set(classes) in _NUMBERED:
            wanted = classes[1]
        rule = replace(rule, wanted=wanted)
        return rule if threshold is None else rule._replaced(threshold, model)

    def _wrapped(self, layer: Any) -> Self:
        fixed = isinstance(layer, FixedThresholdClassifier)
        threshold = layer.threshold if fixed else layer.best_threshold_
        response = layer.response_method
        if response == "auto":
            response = "predict_proba"
            if not hasattr(inner_model(layer), response):
                response = "decision_function"
        if threshold == "auto":
            threshold = 0.5 if response == "predict_proba" else 0.0
        named = getattr(layer, "pos_label", None)
        positive = self.classes[1] if named is None else named
        return replace(self, threshold=float(threshold), positive=positive, response=response)

    def _replaced(self, threshold: float, model: Any) -> Self:
        if len(self.classes) != 2:
            raise ValueError(f"threshold= needs two classes, got {list(self.classes)}")
        if self.wanted is None:
            raise ValueError(
                f"threshold={threshold!r} is of the probability of one class: name it by wanted=, "
                f"one of the labels {list(self.classes)}"
            )
        response = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
        if not hasattr(model, response):
            raise TypeError(
                f"threshold= needs a model with probabilities or scores, and "
                f"{type(model).__name__} predicts labels alone"
            )
        if response == "predict_proba":
            check_inner_share(threshold=threshold)
        changes = {"threshold": float(threshold), "positive": self.wanted, "response": response}
        return replace(self, **changes, replaced=True)

    @property
    def wanted_code(self) -> int | None:
        """Code 0, 1, … of the wanted class, None without one."""
        return None if self.wanted is None else self.classes.index(self.wanted)

    @property
    def scored(self) -> Any:
        """Class that scores of two classes are for: the wanted one, or else the second."""
        return self.classes[-1] if self.wanted is None else self.wanted

    @property
    def scored_text(self) -> str:
        """Name of the class that scores are for, such as ``approve='denied'``."""
        return f"{self.target or 'label'}={self.scored!r}"

    @property
    def text(self) -> str:
        """Sentence about the rule, empty if it is the usual one."""
        if self.threshold is None:
            return ""
        what = "probability" if self.response == "predict_proba" else "score"
        by = "in place of the model's own rule" if self.replaced else "the model's own rule"
        return f"label {self.positive!r} from a {what} of {self.threshold:.4g} on ({by})"

    def cut(self, link: str) -> float:
        """Score of the second class above which it is given, for a linear model of two classes."""
        if self.threshold is None:
            return 0.0
        cut = self.threshold
        if link == "logistic" and self.response == "predict_proba":
            share = min(max(cut, 0.0), 1.0)
            cut = float(logit(share))
        return cut if self.positive == self.classes[1] else -cut

    def fitting(self, model: Any, rows: Any) -> Self:
        """Rule with the class that its (tuned) threshold is for, as the labels of rows show it."""
        if self.threshold is None or self.replaced or len(self.classes) != 2:
            return self
        labels = self._coded(model.predict(rows))
        for positive in (self.positive, *self.classes):
            candidate = replace(self, positive=positive, replaced=True)
            if (candidate.codes(model, rows) == labels).all():
                return replace(self, positive=positive)
        return self

    def codes(self, model: Any, rows: Any) -> NDArray[np.int_]:
        """Codes 0, 1, … of labels (n_rows,) by ``predict``, or by the threshold in its place."""
        if not self.replaced or self.threshold is None:
            return self._coded(model.predict(rows))
        code = self.classes.index(self.positive)
        values = np.asarray(getattr(model, self.response)(rows), dtype=float)
        if values.ndim == 2:
            values = values[:, code]
        elif code == 0:
            values = -values
        return np.where(values >= self.threshold, code, 1 - code)

    def _coded(self, labels: ArrayLike) -> NDArray[np.int_]:
        codes = {label: code for code, label in enumerate(self.classes)}
        listed = np.asarray(labels).ravel().tolist()
        return np.array([codes.get(label, -1) for label in listed], dtype=int)
