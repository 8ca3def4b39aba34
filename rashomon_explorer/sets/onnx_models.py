"""Linear models as ONNX graphs, which clip and map a row before they score it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rashomon_explorer._utils.extras import missing_package
from rashomon_explorer.data.cells import ColumnMap

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
    made = onnx.helper.make_graph(
        graph.nodes,
        type(model).__name__,
        [onnx.helper.make_tensor_value_info(_INPUT, types.DOUBLE, ["rows", coef.shape[1]])],
        [
            onnx.helper.make_tensor_value_info(name, kind, ["rows", width] if width else ["rows"])
            for name, kind, width in outputs
        ],
        graph.constants,
    )
    found = onnx.helper.make_model(
        made, opset_imports=[onnx.helper.make_opsetid("", _OPSET)], ir_version=8
    )
    onnx.checker.check_model(found)
    return found


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
    known = graph.constant(classes.astype(object if text else np.int64))
    graph.add("Gather", known, codes, name="label")
    outputs = [("label", types.STRING if text else types.INT64, 0)]
    if not hasattr(model, "predict_proba"):
        return outputs
    if several:
        graph.add("Softmax", scores, axis=1, name="probabilities")
    else:
        pair = [graph.add("Sigmoid", graph.add("Neg", scores)), graph.add("Sigmoid", scores)]
        graph.add("Concat", *pair, axis=1, name="probabilities")
    return [*outputs, ("probabilities", types.DOUBLE, len(classes))]
