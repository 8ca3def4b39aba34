"""Trees chosen among all counted ones: each value is exact, by counting or by least errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from rashomon_explorer._utils.arrays import Mask
from rashomon_explorer._utils.formatting import number
from rashomon_explorer.audits.answers import NO_GROUPS
from rashomon_explorer.audits.choice.preferences import Limits, Preferred
from rashomon_explorer.audits.choice.sparse import OutOfTime, WorkBudget
from rashomon_explorer.audits.group_rates import NO_RATES, accepted_code
from rashomon_explorer.exceptions import MissingAnswerError
from rashomon_explorer.sets.models.fitted import class_codes
from rashomon_explorer.sets.models.trees import Leaf, Node, Split, tree_columns
from rashomon_explorer.trees import CountedTrees, label_shares
from rashomon_explorer.trees.answers import check_all_labels
from rashomon_explorer.trees.parity import ChangedRows, ParityFront, Rates, loss_front
from rashomon_explorer.trees.questions import MergedRows

COUNTED = "exact: all trees are counted"
AMONG = "among trees with the features that the first search ended at"
_SUBSET, _SUBSET_CELL = 3e-3, 2e-7  # nominal seconds of a set of features, and of a row and pair
_ROUNDING = 1e-12  # of losses


@dataclass(frozen=True, eq=False)
class TreesOf:
    """Trees within ψ that ask no other than some questions."""

    counted: CountedTrees
    questions: tuple[int, ...]  # of the whole set
    psi: float

    @classmethod
    def asking(cls, whole: CountedTrees, questions: list[int], level: float) -> TreesOf | None:
        """Trees with these questions whose loss is at most a level; None if there is none."""
        rows = whole.rows
        answers = rows.patterns[:, questions] if questions else np.zeros((len(rows.patterns), 1))
        patterns, index = np.unique(answers.astype(bool), axis=0, return_inverse=True)
        counts = np.zeros((len(patterns), rows.counts.shape[1]), dtype=np.int64)
        np.add.at(counts, index.reshape(-1), rows.counts)
        merged = MergedRows(patterns, counts, index.reshape(-1)[rows.pattern_index])
        counted = _like(whole, merged, max_leaves=whole.trees.max_leaves if questions else 1)
        psi = level - counted.least
        return cls(counted, tuple(questions), max(psi, 0.0)) if psi >= -_ROUNDING else None

    @property
    def best(self) -> Node:
        """Tree of least loss."""
        return self.renumbered(self.counted.best())

    def renumbered(self, tree: Node) -> Node:
        """Return a tree of the part as one of the whole set."""
        if isinstance(tree, Leaf):
            return tree
        branches = self.renumbered(tree.if_true), self.renumbered(tree.if_false)
        return Split(self.questions[tree.feature], *branches)


def _like(whole: CountedTrees, rows: MergedRows, **settings: Any) -> CountedTrees:
    """Return counted trees of the same class on other merged rows."""
    settings = {"max_leaves": whole.trees.max_leaves, "costs": whole.rows.costs, **settings}
    settings |= {"max_depth": whole.trees.max_depth, "leaf_penalty": whole.leaf_penalty}
    return CountedTrees(rows, None, classes=whole.classes, **settings)


def question_features(counted: CountedTrees) -> dict[str, list[int]]:
    """Questions of the trees by the column of the table that they are about."""
    names = list(counted.feature_names)
    if counted.questions is not None:
        names = [counted.questions.names[column] for column, _ in counted.questions.splits]
    if counted.schema is not None:
        columns = {
            name: each.name for each in counted.schema.features for name in each.encoded_names
        }
        names = [columns[name] for name in names]
    features: dict[str, list[int]] = {}
    for question, name in enumerate(names):
        features.setdefault(name, []).append(question)
    return features


@dataclass(frozen=True, eq=False)
class TreeChoices:
    """Parts of a counted set that are left, and the preferences that choose among them."""

    audit: Any
    limits: Limits
    parts: tuple[TreesOf, ...]

    @classmethod
    def within(cls, audit: Any, limits: Limits) -> TreeChoices:
        """All trees within ψ that meet the limits."""
        counted = audit.answers.counted
        check_all_labels(counted)
        if limits.signs or limits.max_gap is not None:
            raise MissingAnswerError(
                'signs= and max_gap= are about scores, and trees have labels: prefer "fair"'
            )
        every = TreesOf(counted, tuple(range(counted.trees.n_features)), audit.psi)
        choices, size = cls(audit, limits, (every,)), limits.max_features
        if size is None:
            return choices
        try:
            parts = choices.of_size(int(size))
        except OutOfTime:
            raise MissingAnswerError(
                f"whether a good tree uses {size} features or fewer is open: raise seconds="
            ) from None
        if not parts:
            raise MissingAnswerError(
                f"no good tree uses {size} features or fewer (psi is {number(audit.psi)}): "
                'choose("sparse") finds how many are needed'
            )
        return replace(choices, parts=parts)

    @cached_property
    def features(self) -> dict[str, list[int]]:
        """Questions by the column of the table."""
        return question_features(self.audit.answers.counted)

    @cached_property
    def budget(self) -> WorkBudget:
        """Nominal seconds that are left for sets of features."""
        return WorkBudget(self.limits.seconds)

    @cached_property
    def needed(self) -> set[str]:
        """Features without which there is no good tree."""
        every = set(self.features)
        return {name for name in every if self.asking(every - {name}) is None}

    def asking(self, features: set[str]) -> TreesOf | None:
        """Good trees that ask about no other than these features; None if there is none."""
        whole = self.audit.answers.counted
        questions = sorted(at for name in features for at in self.features[name])
        cells = len(whole.rows.patterns) * len(questions) ** 2
        self.budget.spend(_SUBSET + _SUBSET_CELL * cells)
        return TreesOf.asking(whole, questions, whole.least + self.audit.psi)

    def of_size(self, size: int) -> tuple[TreesOf, ...]:
        """Find the sets of so many features that have a good tree, that of least loss first."""
        free, room = sorted(set(self.features) - self.needed), size - len(self.needed)
        sets = combinations(free, min(room, len(free))) if room >= 0 else ()
        parts = [self.asking(self.needed | set(some)) for some in sets]
        return tuple(sorted(filter(None, parts), key=lambda part: part.counted.least))

    def sparse(self) -> tuple[TreeChoices, Preferred]:
        """Fewest columns of the table that a tree asks about, and all trees with as few."""
        fewest, parts = 0, tuple[TreesOf, ...]()
        try:
            while not (parts := self.of_size(fewest)):
                fewest += 1
            size = fewest
        except OutOfTime:
            columns = tree_columns(self.parts[0].best)
            used = {name for name, asked in self.features.items() if columns & set(asked)}
            self.budget.left, size = np.inf, len(used)
            parts = tuple(filter(None, [self.asking(used)]))
        unit = f"of {len(self.features)} features"
        preferred = Preferred("sparse", float(size), float(fewest), unit, proof=COUNTED)
        return replace(self, parts=parts), preferred

    def fair(self) -> tuple[Node, Preferred]:
        """Least gap in the rate of the wanted label, of everyone or of those who have it."""
        model, groups = self.audit.inputs.model, self.audit.inputs.groups
        code = accepted_code(model)
        if groups is None or code is None:
            raise MissingAnswerError(NO_GROUPS if groups is None else NO_RATES)
        accepted, among = model.classes[code], None
        if self.limits.gap == "opportunity":
            among = model.targets == accepted
        label = self.audit.answers.counted.classes.index(accepted)
        what = "rates" if among is None else "true positive rates"

        def front(part: TreesOf) -> ParityFront:
            rates = Rates.from_groups(part.counted, groups.to_numpy(), among)
            return loss_front(part.counted, rates, label, part.psi, random_state=0)

        return self._least("fair", front, f"gap in {what}")

    def near(self) -> tuple[Node, Preferred]:
        """Fewest people whose label differs from that of another model."""
        if self.limits.near is None:
            raise ValueError('"near" needs near=, the model whose labels should change least')
        counted = self.audit.answers.counted
        if len(counted.classes) > 2:
            raise MissingAnswerError('"near" needs trees of two classes')
        codes = class_codes(self.limits.near.predict(self.audit.table), counted.classes, "near=")

        def front(part: TreesOf) -> ParityFront:
            return loss_front(
                part.counted, ChangedRows(part.counted, codes), 1, part.psi, random_state=0
            )

        return self._least("near", front, f"of {len(codes):,} people with another label")

    def _least(
        self, name: str, front: Callable[[TreesOf], ParityFront], unit: str
    ) -> tuple[Node, Preferred]:
        """Tree with the least value at the end of the front of a part."""
        fronts = [(front(part), part) for part in self.parts]
        best, part = min(fronts, key=lambda each: (each[0].gaps[-1], each[0].losses[-1]))
        is_exact = all(each.exact for each, _ in fronts)
        value = float(best.gaps[-1])
        proof = COUNTED if is_exact else "the best of 2,000 draws; no bound is proved"
        preferred = Preferred(name, value, value if is_exact else 0.0, unit, proof=proof)
        return part.renumbered(best.tree(-1)), preferred

    def robust(self) -> tuple[Node, Preferred]:
        """Least worst share of good trees that give a person another label than the tree."""
        whole = self.audit.answers.counted
        if len(whole.classes) > 2:
            raise MissingAnswerError('"robust" needs trees of two classes')
        ratios = 1 - label_shares(whole, self.audit.psi)
        values = np.unique(ratios.round(12))
        low, high = 0, len(values) - 1
        while low < high:
            middle = (low + high) // 2
            if any(self._allowing(ratios <= values[middle] + _ROUNDING)):
                high = middle
            else:
                low = middle + 1
        trees = self._allowing(ratios <= values[high] + _ROUNDING)
        value = float(values[high])
        unit = f"worst conflict ratio over {whole.size(self.audit.psi):,} trees"
        preferred = Preferred("robust", value, value, unit, proof=COUNTED)
        return min(trees, key=lambda each: each[0])[1], preferred

    def _allowing(self, allowed: Mask) -> Iterator[tuple[float, Node]]:
        """Best tree of each part that gives each row an allowed label (n, 2), if it is good."""
        for part in self.parts:
            rows = part.counted.rows
            barred = np.zeros(rows.counts.shape, dtype=bool)
            np.logical_or.at(barred, rows.pattern_index, ~allowed)
            # So many rows of the other label cost more than every tree does.
            counts = rows.counts + (part.counted.unit + 1) * barred[:, ::-1]
            barring = _like(part.counted, replace(rows, counts=counts))
            if barring.least <= part.counted.least + part.psi + _ROUNDING:
                yield barring.least, part.renumbered(barring.best())


def choose_tree(audit: Any, names: list[str], limits: Limits) -> tuple[Node, list[Preferred]]:
    """Tree that preferences in order choose, and their values."""
    missing = {"monotone", "card"} & set(names)
    if missing:
        raise MissingAnswerError(
            f'"{missing.pop()}" is about coefficients, and these are trees: prefer "sparse", '
            '"fair", "near" or "robust"'
        )
    choices, values, tree = TreeChoices.within(audit, limits), list[Preferred](), None
    for name in names:
        if tree is not None:
            raise ValueError(f"{values[-1].name!r} leaves one tree: name it last in prefer")
        if name == "sparse":
            choices, preferred = choices.sparse()
        else:
            tree, preferred = getattr(choices, name)()
        if values and not values[-1].optimal:
            preferred = replace(preferred, proof=AMONG)
        values.append(preferred)
    return choices.parts[0].best if tree is None else tree, values
