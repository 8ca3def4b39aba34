"""Models of a set as scikit-learn estimators, and as ONNX models."""

import math
from typing import Any, Self

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted, validate_data

from rashomon_explorer._utils.arrays import FloatArray, unscale_targets
from rashomon_explorer._utils.imports import missing_package
from rashomon_explorer.data.cells import ColumnMap
from rashomon_explorer.sets.base import key_indices
from rashomon_explorer.sets.scores import model_rows


def exact_only(name: str, *, stored: bool = False) -> property:
    """Property ``coef_`` or ``intercept_``: absent unless it decides for any row as given."""

    def value(model: Any) -> Any:
        if getattr(model, "_scores_rows_unchanged", False):
            return getattr(model, f"encoded_{name}")
        raise AttributeError(
            f"{type(model).__name__} has no {name}: it encodes or clips a row before it scores it, "
            f"so no {name} gives its decision function. encoded_{name} refers to encoded and "
            f"clipped rows; explain predict_proba, decision_function or predict instead"
        )

    def store(model: Any, values: Any) -> None:
        setattr(model, f"encoded_{name}", values)

    return property(
        value,
        store if stored else None,
        doc=f"``{name}`` of a model that scores every row unchanged.",
    )


class ShortensRows:
    """Linear model that clips rows to ``row_norm_`` before it scores them."""

    row_norm_: float
    scale_: ColumnMap | None
    encoded_coef_: FloatArray
    encoded_intercept_: Any
    coef_ = exact_only("coef_", stored=True)  # by scikit-learn's fit
    intercept_ = exact_only("intercept_", stored=True)

    @property
    def _scores_rows_unchanged(self) -> bool:
        return math.isinf(self.row_norm_) and self.scale_ is None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit as scikit-learn does, without clipping rows."""
        self.row_norm_, self.scale_ = math.inf, None
        return super().fit(X, y, sample_weight=sample_weight)  # type: ignore[misc]

    def to_onnx(self) -> Any:
        """Return an ONNX model with the same predictions, which clips rows; needs onnx.

        Its input is ``X``, in double precision; its outputs are ``label`` and ``probabilities``,
        or ``variable`` for targets. A TypeError for classes that are neither text nor integers.
        """
        check_is_fitted(self)
        return to_onnx(self)

    def _linear_scores(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        checked = validate_data(self, X, dtype=np.float64, reset=False)
        rows = model_rows(checked, self.row_norm_, self.scale_)
        scores = rows @ self.encoded_coef_.T + self.encoded_intercept_
        return np.asarray(scores.ravel() if scores.ndim == 2 and scores.shape[1] == 1 else scores)


class ShortensRowsClassifier(ShortensRows):
    """Classifier that clips rows and predicts from its decision function."""

    def decision_function(self, X: Any) -> FloatArray:
        """Linear scores of the second class, or of each class."""
        return self._linear_scores(X)


class DrawnLogisticRegression(ShortensRowsClassifier, LogisticRegression):
    """A drawn logistic or softmax model."""


class DrawnLinearSVC(ShortensRowsClassifier, LinearSVC):
    """A drawn model that predicts labels without probabilities."""


class DrawnRidge(ShortensRows, Ridge):
    """A drawn model of targets."""

    def predict(self, X: Any) -> FloatArray:
        """Predicted targets."""
        return self._linear_scores(X)


LinearModel = DrawnLogisticRegression | DrawnLinearSVC | DrawnRidge


def to_sklearn(models: Any, draw: int) -> LinearModel:
    """See :meth:`RashomonSet.to_sklearn`."""
    if isinstance(draw, bool) or not isinstance(draw, int | np.integer):
        raise TypeError(f"draw must be the place of one model, got {draw!r}")
    index = key_indices(draw, models.n_draws)[0]
    each = models.coef[index].reshape(models.outputs, -1)
    coef, intercept = each[:, :-1].copy(), each[:, -1].copy()
    classes = models.classes or range(models.n_classes)
    if models.link == "identity":
        half = (models.target_bounds[1] - models.target_bounds[0]) / 2
        middle = float(unscale_targets(intercept[0], models.target_bounds))
        model = _fitted(DrawnRidge(), coef[0] * half, middle)
    elif models.link == "sign":
        model = _fitted(DrawnLinearSVC(loss="hinge"), coef, intercept, classes)
    else:
        if models.n_classes > 2:  # the first class has the score 0 and no parameters
            coef, intercept = np.vstack([np.zeros_like(coef[:1]), coef]), np.append(0.0, intercept)
        model = _fitted(DrawnLogisticRegression(), coef, intercept, classes)
    model.row_norm_, model.scale_ = models.row_norm, models.scale
    model.n_features_in_ = each.shape[1] - 1
    names = models.feature_names[:-1]
    # scikit-learn would require the default names of unnamed features.
    if names != tuple(f"x{column}" for column in range(len(names))):
        model.feature_names_in_ = np.array(names, dtype=object)
    return model


def one_model(
    coef: FloatArray, row_norm: float, scale: ColumnMap | None, *, classes: Any, loss: str
) -> LinearModel:
    """Model of an estimator of one model, of coefficients in the units of ``scale``."""
    if classes is None:
        model = _fitted(DrawnRidge(), coef[0, :-1], float(coef[0, -1]))
    else:
        kind = DrawnLogisticRegression() if loss == "logistic" else DrawnLinearSVC(loss="hinge")
        model = _fitted(kind, coef[:, :-1], coef[:, -1], classes)
    model.row_norm_, model.scale_, model.n_features_in_ = row_norm, scale, coef.shape[1] - 1
    return model


def _fitted(model: Any, coef: FloatArray, intercept: Any, classes: Any = None) -> Any:
    model.encoded_coef_, model.encoded_intercept_ = coef, intercept
    if classes is not None:
        model.classes_, model.n_iter_ = np.array(classes), np.zeros(1, dtype=int)
    return model


_INPUT, _OPSET = "X", 17


class _Graph:
    """Nodes and constants of a graph of double precision, one output per node."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        name = name or f"{kind}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [name], **attributes))
        return name

    def clipped(self, rows: str, row_norm: float) -> str:
        if math.isinf(row_norm):
            return rows
        bound = self.constant(np.array([[float(row_norm)]]))
        norm = self.add("ReduceL2", rows, axes=[1], keepdims=1)
        return self.add("Mul", rows, self.add("Div", bound, self.add("Max", norm, bound)))


def _rows(graph: _Graph, row_norm: float, scale: ColumnMap | None) -> str:
    """Rows for the model: as :func:`~rashomon_explorer.sets.scores.model_rows` returns them."""
    if scale is None:
        return graph.clipped(_INPUT, row_norm)
    clipped = graph.clipped(_INPUT, scale.row_norm)
    moved = graph.add("Sub", clipped, graph.constant(scale.centre))
    mapped = graph.add("Div", moved, graph.constant(scale.spread))
    return graph.clipped(mapped, scale.row_norm)


def to_onnx(model: Any) -> Any:
    """See :meth:`ShortensRows.to_onnx`."""
    try:
        import onnx
        import onnx.numpy_helper  # loaded by its name
    except ImportError as error:
        raise missing_package("An ONNX model", "onnx", "onnx") from error
    graph = _Graph(onnx)
    rows = _rows(graph, model.row_norm_, model.scale_)
    coef = np.atleast_2d(np.asarray(model.encoded_coef_, dtype=float))
    product = graph.add("MatMul", rows, graph.constant(coef.T.copy()))
    intercept = np.broadcast_to(np.asarray(model.encoded_intercept_, dtype=float), len(coef))
    named = {"name": "variable"} if not hasattr(model, "classes_") else {}
    scores = graph.add("Add", product, graph.constant(intercept.copy()), **named)
    types = onnx.TensorProto
    outputs = [("variable", types.DOUBLE, 1)] if named else _classes(graph, model, scores)
    onnx_graph = onnx.helper.make_graph(
        graph.nodes,
        type(model).__name__,
        [onnx.helper.make_tensor_value_info(_INPUT, types.DOUBLE, ["rows", coef.shape[1]])],
        [
            onnx.helper.make_tensor_value_info(name, kind, ["rows", width] if width else ["rows"])
            for name, kind, width in outputs
        ],
        graph.constants,
    )
    onnx_model = onnx.helper.make_model(
        onnx_graph, opset_imports=[onnx.helper.make_opsetid("", _OPSET)], ir_version=8
    )
    onnx.checker.check_model(onnx_model)
    return onnx_model


def _classes(graph: _Graph, model: Any, scores: str) -> list[tuple[str, int, int]]:
    """Add labels, and probabilities if the model has them; return the outputs."""
    types = graph.onnx.TensorProto
    classes = np.asarray(model.classes_)
    text = classes.dtype.kind in "UO"
    if not text and not np.array_equal(classes, classes.astype(np.int64)):
        raise TypeError(f"classes of an ONNX model must be text or integers, got {list(classes)}")
    if several := len(classes) > 2:
        codes = graph.add("ArgMax", scores, axis=1, keepdims=0)
    else:
        above = graph.add("Greater", scores, graph.constant(0.0))
        flat = graph.add("Squeeze", above, graph.constant(np.array([1])))
        codes = graph.add("Cast", flat, to=types.INT64)
    labels = graph.constant(classes.astype(object if text else np.int64))
    graph.add("Gather", labels, codes, name="label")
    outputs = [("label", types.STRING if text else types.INT64, 0)]
    if not hasattr(model, "predict_proba"):
        return outputs
    if several:
        graph.add("Softmax", scores, axis=1, name="probabilities")
    else:
        pair = [graph.add("Sigmoid", graph.add("Neg", scores)), graph.add("Sigmoid", scores)]
        graph.add("Concat", *pair, axis=1, name="probabilities")
    return [*outputs, ("probabilities", types.DOUBLE, len(classes))]
