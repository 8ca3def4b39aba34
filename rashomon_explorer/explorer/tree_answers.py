"""Exact answers about all sparse trees on the page's table.  Curator: from private rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.blocks.steps import Transformed
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.encoded import features_of
from rashomon_explorer.explorer.family import (
    names_in_words,
    of_trees,
    questions_of,
    tree_estimator,
    tree_rows,
)
from rashomon_explorer.explorer.group_columns import group_labels, grouping_of
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.whole import whole_of
from rashomon_explorer.planning.trees import TreePlan
from rashomon_explorer.rashomon_set import PredictorSet
from rashomon_explorer.rashomon_set.models.trees import Node
from rashomon_explorer.schema.units import UnitEncoder
from rashomon_explorer.trees import (
    CountedTrees,
    ParityFront,
    TreeClass,
    best_avoiding,
    best_saying,
    best_using,
    feature_table,
    least_losses,
    parity_front,
)
from rashomon_explorer.trees.private import leaves_of

_MOST_KEPT = 500_000
_SAME = 1e-9
_OTHER_CLASS = (
    "This needs the trees that these were drawn from: set leaves, depth, price of a leaf and "
    "thresholds as they were."
)
_NO_TREES = "Choose <b>sparse trees</b> under Models: then all of them are counted."
_NO_TABLE = "Needs the table: <b>Explorer(models, data=data)</b>."


@dataclass(frozen=True, eq=False)
class Says:
    """Counts, in each group of some rows, of how many each tree says a label.

    Parameters
    ----------
    models : PredictorSet
    label, groups : int
    """

    models: Any
    label: int
    groups: int

    def __call__(self, rows: Any, codes: Any) -> tuple[NDArray[np.int_]]:
        """Return counts (groups, trees)."""
        codes = codes["group"] if codes.dtype.names else codes
        says = self.models.labels(rows) == self.label
        return (np.array([says[:, codes == one].sum(axis=1) for one in range(self.groups)]),)


class TreeAnswers:
    """What is true of every tree that the sliders allow, drawn or not; found once and kept.

    Parameters
    ----------
    state : ExplorerState
    """

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self._lock = RLock()
        self._of: tuple[Any, ...] = ()
        self._data: Any = None  # held, or another table could come to stand in its place
        self._known: dict[Any, Any] = {}

    @property
    def why_not(self) -> str:
        """Why nothing is counted; empty where something is."""
        if not of_trees(self.state):
            return _NO_TREES
        return _NO_TABLE if self.state.data is None else ""

    @property
    def counted(self) -> CountedTrees:
        """All trees of the sliders' class, counted."""
        return self._find("counted", self._count)

    @property
    def questions(self) -> tuple[str, ...]:
        """What trees may ask, in words; public."""
        asked, schema = questions_of(self.state.data), self.state.data.schema
        return replace(asked, names=names_in_words(asked.names, schema)).in_words

    def sizes(self) -> pd.DataFrame:
        """Count the trees by leaves within the slider's ψ, and less and half as much more."""
        psi = float(self.state.psi)
        psis = np.unique([*np.linspace(0.0, 1.5 * psi, 31), psi])
        counts = self.counted.curve(psis)
        leaves = pd.Index(range(1, counts.shape[1] + 1), name="leaves")
        return pd.DataFrame(counts.T, index=leaves, columns=pd.Index(psis, name="ψ"))

    def flips(self) -> pd.DataFrame:
        """Least ψ at which each person's label can be another, and that label."""

        def find() -> pd.DataFrame:
            losses = least_losses(self.counted) - self.counted.least
            if (whole := whole_of(self.state.data)) is not None:
                losses = losses[whole.came.places]
            second = np.argsort(losses, axis=1, kind="stable")[:, 1]
            psi = np.maximum(losses[np.arange(len(losses)), second], 0.0)
            classes = np.array(self.state.data.classes, dtype=object)
            index = pd.Index(range(len(psi)), name="person")
            return pd.DataFrame({"psi": psi, "label": classes[second], "code": second}, index=index)

        return self._find("flips", find)

    def features(self) -> pd.DataFrame:
        """Least ψ of a tree that asks each question, and of one that does not; shares within ψ."""
        psi = float(self.state.psi)

        def find() -> pd.DataFrame:
            table = feature_table(self.counted, psi)
            return table.set_axis(pd.Index(self.questions, name=table.index.name))

        return self._find(("features", psi), find)

    def parity(self, column: str, label: int | None = None) -> pd.DataFrame:
        """Least loss against the gap of a label's rate between the groups of a column.

        Columns ``beyond``, loss beyond that of the best tree, and ``gap``; ``attrs["exact"]`` says
        whether no tree within ψ does better, or these are the best of uniform draws.
        """
        front = self._front(column, label)
        table = pd.DataFrame({"beyond": front.losses - self.counted.least, "gap": front.gaps})
        table.attrs["exact"] = front.exact
        return table.rename_axis("tree")

    def fairest(self, column: str, label: int | None = None) -> PredictorSet:
        """Return the best tree, and the best of those within ψ whose gap is least."""
        return self._beside(self._front(column, label).tree(-1))

    def drawn_gaps(self, models: Any, column: str, label: int | None = None) -> pd.DataFrame:
        """Loss beyond the best one and gap of drawn trees of the class, as `parity` has them.

        No row of a set that was drawn with other settings.
        """
        if not self._are_of_this_class(models):
            return pd.DataFrame({"beyond": [], "gap": []})
        rates = self._rates(models, self._groups(column), self._label(label))
        gaps = rates.max(axis=0) - rates.min(axis=0)
        return pd.DataFrame({"beyond": models.losses - models.least, "gap": gaps})

    def beside(self, models: Any) -> CountedTrees:
        """Return all trees of the class that drawn ones are of: what their width is told by.

        Raises
        ------
        DataError
            If the settings are not those that the trees were drawn with.
        """
        if self.why_not or not self._are_of_this_class(models):
            raise DataError(_OTHER_CLASS)
        return self.counted

    def _are_of_this_class(self, models: Any) -> bool:
        """Whether drawn trees are of the class and the loss that the sliders say, on these rows."""
        planned, counted = getattr(models, "plan", None), self.counted
        if not isinstance(planned, TreePlan) or planned.costs:
            return False
        asked = questions_of(self.state.data).declared
        drawn = TreeClass(len(asked), planned.most_leaves, planned.max_depth, planned.n_labels)
        return (
            planned.questions == asked
            and drawn.sizes == counted.trees.sizes
            and planned.leaf_penalty == counted.leaf_penalty
            and abs(models.least - counted.least) <= _SAME
        )

    def _front(self, column: str, label: int | None) -> ParityFront:
        psi, of = float(self.state.psi), self._label(label)
        groups = self._groups(column)
        return self._find(
            ("parity", column, of, psi),
            lambda: parity_front(
                self.counted, groups, psi, label=of, most=_MOST_KEPT, random_state=0
            ),
        )

    def _groups(self, column: str) -> NDArray[Any]:
        """Group of each row that is counted, held or not."""
        data = self.state.data
        whole = whole_of(data)
        if whole is None:
            return group_labels(data, column).to_numpy()
        return whole.groups(column, grouping_of(data, column)).cat.codes.to_numpy()

    def _rates(self, models: Any, groups: NDArray[Any], label: int) -> FloatArray:
        """How often each tree says a label of each group (groups, trees), of all rows."""
        data = self.state.data
        whole = whole_of(data)
        names, codes = np.unique(groups, return_inverse=True)
        says = Says(models, label, len(names))
        if whole is None:
            (found,) = says(tree_rows(data), codes)
        else:
            encoder = UnitEncoder(features_of(data.schema))
            steps = Transformed(encoder, tuple(whole.came.rows.source.names or ()))
            rows = whole.came.rows.then(steps).beside(group=codes.astype(np.int16))
            (found,) = rows.reduce(says)
        return np.asarray(found / np.bincount(codes)[:, None])

    def _label(self, label: int | None) -> int:
        return len(self.state.data.classes) - 1 if label is None else label

    def flipping(self, person: int) -> PredictorSet:
        """Return the best tree, and the best that says another label of a person."""
        code = int(self.flips()["code"].iloc[person])
        whole = whole_of(self.state.data)
        place = person if whole is None else int(whole.came.places[person])
        return self._beside(best_saying(self.counted, place, code))

    def asking(self, question: str) -> PredictorSet:
        """Return the best tree, and the best that asks a question."""
        return self._beside(best_using(self.counted, self.questions.index(question)))

    def without(self, question: str) -> PredictorSet:
        """Return the best tree, and the best that does not ask a question."""
        return self._beside(best_avoiding(self.counted, self.questions.index(question)))

    def _count(self) -> CountedTrees:
        state = self.state
        whole = whole_of(state.data)
        if whole is not None:  # counted as all rows, equal answers merged
            whole.encoded()  # one that cannot be used is named
            return tree_estimator(state, None).counted(whole.labelled)
        return CountedTrees(
            questions_of(self.state.data).answers(tree_rows(state.data).to_numpy(dtype=float)),
            np.asarray(state.data.y).astype(int),
            max_leaves=state.max_leaves,
            max_depth=state.max_depth,
            leaf_penalty=state.leaf_penalty,
            classes=range(len(state.data.classes)),
            questions=questions_of(state.data),
        )

    def _beside(self, tree: Node) -> PredictorSet:
        counted = self.counted
        both = [counted.best(), tree]
        losses = [counted.loss(leaves_of(one), counted.errors(one)) for one in both]
        held = counted.as_set(both, np.array(losses), float(self.state.psi))
        return replace(held, classes=tuple(self.state.data.classes))

    def _find(self, key: Any, find: Callable[[], Any]) -> Any:
        state = self.state
        with self._lock:  # who asks for what another is finding waits for it
            now = (id(state.data), state.max_leaves, state.max_depth, state.leaf_penalty)
            if now != self._of:
                self._of, self._known, self._data = now, {}, state.data
            if key not in self._known:
                self._known[key] = find()
            return self._known[key]
