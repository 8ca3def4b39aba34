"""Sets of models known by their predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_nonnegative_or_infinite
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.mechanisms.planning.trees import TreePlan
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.sets.curator import CuratorSet
from rashomon_explorer.sets.files import (
    Arrays,
    Values,
    labels,
    number,
    number_from_value,
    tree_plan_from_values,
    tree_plan_values,
    written_as,
)
from rashomon_explorer.sets.models import STORABLE
from rashomon_explorer.sets.models.fitted import (
    FittedModels,
    Models,
    StoredPredictions,
    fingerprint,
)
from rashomon_explorer.sets.models.trees import DecisionTrees
from rashomon_explorer.sets.released_trees import ReleasedTrees, WrittenTrees
from rashomon_explorer.sets.scores import (
    in_words,
    likeliest,
    released_schema,
    schema_from,
    schema_values,
)
from rashomon_explorer.sets.selection import LINEAR_ONLY, Places, frozen

if TYPE_CHECKING:
    from rashomon_explorer.data import TableSchema


def predictor_parts(models: Any) -> tuple[Arrays, Values]:
    """Arrays and JSON values for a file of stored predictions or trees."""
    arrays: Arrays = {"losses": models.losses}
    held: Values = {}
    for name, part in (("models", models.models), ("reference", models.reference)):
        own, values = _stored(part)
        arrays |= {f"{name}.{key}": array for key, array in own.items()}
        held[name] = {"kind": part.kind, **values}
    return arrays, {
        **held,
        "least": number(models.least),
        "psi": number(models.psi),
        "task": models.task,
        "classes": labels(models.classes),
        "names": list(models.names),
        "loss": models.loss,
        "guarantee": models.guarantee.to_dict(),
        "steps": list(models.steps),
        "complete": models.complete,
        "independent": models.independent,
        "uniform": models.uniform,
        "plan": tree_plan_values(models.planned),
        **schema_values(models.schema),
    }


def predictor_fields(arrays: Arrays, values: Values) -> dict[str, Any]:
    """Fields of the set that :func:`predictor_parts` wrote."""
    parts = {}
    for name in ("models", "reference"):
        at = f"{name}."
        own = {k.removeprefix(at): v for k, v in arrays.items() if k.startswith(at)}
        parts[name] = STORABLE[values[name]["kind"]].from_parts(own, values[name])
    return dict(
        **parts,
        losses=arrays["losses"],
        least=number_from_value(values["least"]),
        psi=number_from_value(values["psi"]),
        task=values["task"],
        classes=tuple(values["classes"]),
        names=tuple(values["names"]),
        loss=values["loss"],
        guarantee=Guarantee.from_dict(values["guarantee"]),
        steps=tuple(values["steps"]),
        complete=values.get("complete", False),  # absent in older files
        independent=values.get("independent", False),
        uniform=values.get("uniform", False),
        planned=tree_plan_from_values(values.get("plan")),
        schema=schema_from(values),
    )


def _stored(part: Any) -> tuple[Arrays, Values]:
    if part.kind not in STORABLE:
        raise TypeError(
            f"{part.kind} can be saved only by pickle, which runs code when it is loaded: save "
            f"their predictions with stored(X).save(path), or save each model with skops or ONNX"
        )
    arrays, values = part.to_parts()
    return arrays, values


NOT_PRIVATE = no_guarantee("these models were not drawn privately")


@written_as("models", reader="RashomonSet.load")
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PredictorSet(WrittenTrees, CuratorSet):
    """Models that are not linear draws, for the curator only: not private.

    Returned by :func:`rashomon_explorer.sets.from_estimators`, ``from_predictions``,
    ``from_timbertrek`` and ``from_treefarms``, by ``RashomonTreeClassifier`` and by
    :class:`rashomon_explorer.trees.CountedTrees`. Coefficients exist only if all models are
    linear; a release and a plan exist only for trees that were drawn privately.

    Parameters
    ----------
    models : Models
        Models that predict.
    reference : Models
        The one model that others are compared with: the best of the source.
    losses : ndarray of shape (n_draws,)
        Loss of each model; all NaN if the source has none.
    least : float
        Loss of the best model.
    psi : float
        Rashomon threshold, in units of the loss.
    task : {"classification", "regression"}
    classes : tuple, default=()
        Labels of the classes 0, 1, ….
    names : tuple of str, default=()
        Names of the models.
    loss : str, default="unknown"
        Name of the loss.
    steps : tuple of str, default=()
        Selection steps of the models.
    complete : bool, default=False
        Whether the set contains every model within ψ, as an enumerated set does: measures over the
        models are then exact. A selection other than :meth:`inside` is not complete.
    independent : bool, default=False
        Whether they are independent draws from one distribution, as of ``CountedTrees`` and of
        ``RashomonTreeClassifier``: samples then have intervals (``enough_draws``).
    uniform : bool, default=False
        Whether that distribution is uniform on all models within ψ, as of ``CountedTrees.draw``.
    planned : TreePlan or None, default=None
        Public plan of private draws of trees; read it as ``plan``.
    schema : TableSchema or None, default=None
        Encoder of raw tables for trees, if the classifier had a schema.

    Examples
    --------
    >>> from rashomon_explorer.sets import from_predictions
    >>> chances = [[0.9, 0.2, 0.6], [0.8, 0.1, 0.4], [0.1, 0.9, 0.5]]
    >>> models = from_predictions(chances, [1, 0, 1], psi=0.3)
    >>> models.hit_rate.__round__(2), models.inside().names
    (0.67, ('model 0', 'model 1'))
    """

    models: Models
    reference: Models
    losses: FloatArray
    least: float
    psi: float
    task: str
    classes: tuple[Any, ...] = ()
    names: tuple[str, ...] = ()
    loss: str = "unknown"
    guarantee: Guarantee = NOT_PRIVATE
    steps: tuple[str, ...] = ()
    complete: bool = False
    independent: bool = False
    uniform: bool = False
    planned: TreePlan | None = None
    schema: TableSchema | None = None

    def __post_init__(self) -> None:
        """Make the losses read-only and check the lengths."""
        object.__setattr__(self, "losses", frozen(self.losses))
        count = len(self.models)
        for name, values in (("losses", self.losses), ("names", self.names)):
            if len(values) != count:
                raise ValueError(f"{name} must hold one for each of {count} models: {len(values)}")
        check_nonnegative_or_infinite(psi=self.psi)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make arrays read-only again: pickling loses this flag."""
        self.__dict__.update(state)
        self.__post_init__()

    def __getattr__(self, name: str) -> NoReturn:
        if name in LINEAR_ONLY:
            raise AttributeError(f"{name}: {LINEAR_ONLY[name]}, and this set has other models")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def plan(self) -> TreePlan:
        """Plan of private draws of trees.

        Raises
        ------
        AttributeError
            If the models come from elsewhere, or were not drawn privately.
        """
        if self.planned is None:
            raise AttributeError("plan")
        return self.planned

    @property
    def n_draws(self) -> int:
        """Number of models."""
        return len(self.models)

    @property
    def n_classes(self) -> int:
        """Number of classes that the models distinguish; 0 for a regression."""
        return len(self.classes)

    @property
    def class_names(self) -> tuple[str, ...]:
        """Text for each class."""
        return in_words(self.classes)

    @property
    def mechanism(self) -> str:
        """Sampler with the distribution of these draws; the type of models from elsewhere."""
        return "exact" if self.independent else self.models.kind

    @property
    def coef(self) -> FloatArray:
        """Coefficients (n_draws, n_parameters), the intercept last, of linear models.

        Raises
        ------
        AttributeError
            If the models are not all linear and of one shape.
        """
        if not isinstance(self.models, FittedModels):
            raise AttributeError(f"{self.models.kind} have no coefficients")
        return self.models.coef

    def scores(self, X: Any = None) -> FloatArray:
        """Predictions of every model for every row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), optional
            Rows in any form that the models accept. Omit them for stored predictions, which are for
            their own rows.

        Returns
        -------
        ndarray of shape (n_draws, n_rows), or (n_draws, n_rows, n_classes) for several classes
            Probability of the second class or of each class (1.0 and 0.0 if a model predicts only
            labels), or the predicted target.

        Raises
        ------
        ValueError
            If rows are missing or not accepted, or a prediction is not finite.
        """
        return self.models.scores(X)

    def labels(self, X: Any = None) -> NDArray[np.int_]:
        """Class 0, 1, … of every model for every row: the likeliest one, the first on a tie.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), optional

        Returns
        -------
        ndarray of shape (n_draws, n_rows)
            One row per model.

        Raises
        ------
        TypeError
            For a regression set.
        """
        if self.task != "classification":
            raise TypeError("labels need a classification set; use scores for regression")
        return likeliest(self.scores(X))

    def best_scores(self, X: Any = None) -> FloatArray:
        """Predictions of the best model, as :meth:`scores` without the first axis."""
        return np.asarray(self.reference.scores(X)[0])

    def complexity(self, tol: float = 0.0) -> NDArray[np.int_]:
        """Leaves of each tree, or coefficients above ``tol`` in size, shape (n_draws,)."""
        return self.models.complexity(tol)

    def to_sklearn(self, draw: int) -> Any:
        """Return one of the fitted models itself, or a decision tree converted to scikit-learn.

        Raises
        ------
        TypeError
            If the set contains only predictions, or a tree with a question that scikit-learn lacks.
        """
        if isinstance(self.models, FittedModels):
            return self.models.estimators[draw]
        if isinstance(self.models, DecisionTrees):
            return self._sklearn_tree(draw)
        raise TypeError(f"{self.models.kind} have no scikit-learn form: use scores and labels")

    def inside(self, psi: float | None = None) -> Self:
        """Keep the models within ψ, as :meth:`CuratorSet.inside`; completeness is preserved."""
        return replace(super().inside(psi), complete=self.complete)

    def stored(self, X: Any) -> Self:
        """Replace the models by their predictions on some rows, for a file or another person.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Their values are not stored, only a fingerprint that identifies them.

        Returns
        -------
        PredictorSet
            Set of stored predictions, which ``save`` accepts.
        """
        rows = fingerprint(X)
        kept = (StoredPredictions(held.scores(X), rows) for held in (self.models, self.reference))
        return replace(self, models=next(kept), reference=next(kept))

    def to_parts(self) -> tuple[Arrays, Values]:
        """Return arrays and JSON values for a file, of stored predictions or trees."""
        return predictor_parts(self)

    @classmethod
    def from_parts(cls, arrays: Arrays, values: Values) -> Self:
        """Inverse of :meth:`to_parts`."""
        return cls(**predictor_fields(arrays, values))

    def release(self) -> ReleasedTrees:
        """Return only privately drawn trees and their guarantee.

        Raises
        ------
        CuratorOnlyError
            If these models were not drawn privately.
        """
        if not self.guarantee.holds:
            raise CuratorOnlyError(f"these models cannot be released: {self.guarantee}")
        if not isinstance(self.models, DecisionTrees):
            raise CuratorOnlyError(f"{self.models.kind} cannot be released, only trees drawn here")
        return ReleasedTrees(
            models=self.models,
            psi=self.psi,
            classes=self.classes,
            guarantee=self.guarantee,
            loss=self.loss,
            steps=self.steps,
            planned=self.planned,
            schema=released_schema(self.schema, self.models.feature_names),
        )

    def _known_losses(self) -> FloatArray:
        if self.n_draws and math.isnan(self.least):
            raise ValueError(
                "the losses of these models are not known: build the set with losses or with y"
            )
        return self.losses

    def _taken(self, places: Places, step: str, guarantee: Guarantee) -> Self:
        return replace(
            self,
            models=self.models.take(places),
            losses=self.losses[places],
            names=tuple(self.names[place] for place in places),
            guarantee=guarantee,
            steps=(*self.steps, step),
            complete=self.complete and len(np.unique(places)) == self.n_draws,
        )

    def _within(self, psi: float) -> Self:
        return replace(self, psi=psi)

    def _public_view(self) -> Any:
        return self.release() if self.guarantee.holds else self
