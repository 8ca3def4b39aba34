"""Exact results for the page, computed from private rows and cached."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rashomon_explorer import trees
from rashomon_explorer._utils.arrays import Mask, likeliest
from rashomon_explorer._utils.memory_limits import release_freed_memory
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer import family, messages
from rashomon_explorer.explorer.selection import CurrentSelection, ModelInputs, group_labels, taken
from rashomon_explorer.explorer.state import LINEAR, ExplorerState
from rashomon_explorer.explorer.table_rows import table_rows, tree_rows
from rashomon_explorer.measures import exact_coefficient_ranges, flip_psi, model_class_reliance
from rashomon_explorer.measures.ranges import FlipPsi, people_ranges, proved_people, set_problem
from rashomon_explorer.measures.ranges.exact import parameter_names, set_outline
from rashomon_explorer.measures.ranges.flips import in_last_class
from rashomon_explorer.plots.dots import MOST_PEOPLE
from rashomon_explorer.plots.map import Outline, map_plane
from rashomon_explorer.plots.registry import MeasureCache
from rashomon_explorer.plots.text import empty_set_message, models_within_psi, sample_rows
from rashomon_explorer.sets import PredictorSet, RashomonSet
from rashomon_explorer.sets.models.trees import Node, count_leaves, tree_columns

_NO_LINEAR = "Exact results need linear models with a convex loss."
_NO_TARGETS = "Exact results need the rows and their targets."


class ExactAnswers:
    """Exact results for the set on screen.  Curator: computed from private rows."""

    def __init__(self, screen: ModelInputs) -> None:
        self._screen = screen
        self.state = screen.state
        self._results = MeasureCache()
        self.forget = self._results.forget
        self._selected = CurrentSelection(screen)

    @property
    def of_settings(self) -> bool:
        """Whether the results are of linear models of the current settings, before any draw."""
        return LINEAR in family.answered_families(self.state)

    @property
    def why_not(self) -> str:
        """Why no exact results are available for the models on screen; empty if they are."""
        if self.state.exact_audit is not None or self.of_settings:
            return ""
        models = self.state.rashomon_set
        linear = isinstance(models, RashomonSet) and models.link != "sign"
        if not linear or models.plan.radius is None:
            return _NO_LINEAR
        return _NO_TARGETS if self._screen.rows is None or self._screen.targets is None else ""

    @property
    def psi(self) -> float:
        """Threshold ψ of the draws on screen; for a fitted model the audit's, or the slider's."""
        if self.state.exact_audit is not None:
            return float(self.state.audit_psi)
        models = self.state.rashomon_set
        return float(self.state.psi if models is None else models.psi)

    @property
    def problem(self) -> Any:
        if (audit := self.state.exact_audit) is not None:
            return audit.problem
        return self._find("problem", self._make_problem)

    @property
    def matched(self) -> Any:
        """The problem, or None if the draws were made from other rows."""
        try:
            return self.problem
        except DataError:  # such as rows that changed
            raise
        except ValueError as error:
            messages.LOGGER.info("no exact results for these rows", exc_info=error)
            return None

    def coefficient_ranges(self) -> pd.DataFrame:
        return self._find(
            ("coefficients", self.psi), lambda: exact_coefficient_ranges(self.problem, self.psi)
        )

    def shapes(self) -> pd.DataFrame:
        """Functions of the columns of an audited model at the ψ on screen."""
        audit: Any = self.state.exact_audit
        return self._find(("shapes", self.psi), lambda: audit.at(self.psi).shapes)

    def outline(self, x: str | None = None, y: str | None = None) -> Outline | None:
        """Outline of the set in the plane of the map; None for several scores and other rows."""
        models, problem = self.state.rashomon_set, self.matched
        if problem is None or problem.loss.outputs > 1:
            return None
        names, best = parameter_names(problem), problem.minimum.theta
        if models is None:  # the longest axes of the set's ellipsoid
            sizes, vectors = np.linalg.eigh(problem.hessian(best))
            axes = vectors.T / np.sqrt(np.maximum(sizes, 1e-9 * sizes[-1]))[:, None]
        plane = map_plane(np.vstack([axes, -axes]) if models is None else models.coef, names, x, y)

        def find() -> Outline:
            return Outline(plane, set_outline(problem, self.psi, plane), best, names, self.psi)

        return self._find(("outline", self.psi, plane.tobytes()), find)

    def one_by_one(self) -> pd.DataFrame:
        """Labels of some people by all good models, whatever ψ, or by the draws within ψ."""
        positions = sample_rows(len(self._screen.rows), MOST_PEOPLE)
        rows, index = taken(self._screen.rows, positions), pd.Index(positions, name="person")

        def find() -> pd.DataFrame:
            last = {"label": in_last_class(self.problem, rows)}
            return pd.DataFrame({**last, **flip_psi(self.problem, rows)._asdict()}, index=index)

        if not self.why_not and self.matched is not None:
            return self._find("one by one", find)
        models = self.state.rashomon_set
        inside = models_within_psi(models)
        if inside.is_empty:
            raise DataError(f"{empty_set_message(models)}.")
        last = inside.models.labels(rows) == models.n_classes - 1
        return pd.DataFrame({"share": last.mean(axis=0)}, index=index)

    def people(self, positions: NDArray[np.intp]) -> pd.DataFrame:
        """Ranges and flips of the people at these positions, exact and of the selected draws."""

        def find() -> pd.DataFrame:
            models, rows = self._selected.models, taken(self._screen.rows, positions)
            if models is not None and models_within_psi(models).is_empty:
                if self.why_not or getattr(models, "n_classes", 2) > 2:
                    raise DataError(
                        f"{empty_set_message(models)}, and no exact results are available for "
                        f"these models"
                    )
                models = None  # exact results need no draw
            if models is None:
                return self._proved_people(positions)
            table = people_ranges(models, rows).set_axis(pd.Index(positions, name="person"))
            if self.why_not:
                return table
            return table.join(self._proved_people(positions).drop(columns="best", errors="ignore"))

        key = "people", self.state.rashomon_set, self.state.selection, self.psi, positions.tobytes()
        return self._find(key, find)

    def _proved_people(self, positions: NDArray[np.intp]) -> pd.DataFrame:
        """Exact ranges and flips over the whole set, which no selection of draws changes."""

        def find() -> pd.DataFrame:
            models, rows = self.state.rashomon_set, taken(self._screen.rows, positions)
            units = {} if models is None else {"target_bounds": models.target_bounds}
            table = proved_people(self.problem, self.psi, rows, **units)
            return table.set_axis(pd.Index(positions, name="person"))

        return self._find(("proved people", self.psi, positions.tobytes()), find)

    def all_accept(self, rows: Any) -> Mask:
        """Whether each row gets the last class from every good model, or from every draw."""
        models = self.state.rashomon_set
        accepted = likeliest(np.asarray(models.best_scores(rows))[None])[0] == models.n_classes - 1
        if self.why_not:
            labels = np.asarray(models_within_psi(models).models.labels(rows))
            return np.asarray(accepted & (labels == models.n_classes - 1).all(axis=0))
        flips = proved_people(self.problem, self.psi, rows)["flips"].to_numpy()
        return np.asarray(accepted & (flips == "no"))

    def class_reliance(self, features: tuple[str, ...]) -> pd.DataFrame:
        def find() -> pd.DataFrame:
            models = self.state.rashomon_set
            columns = list(models.feature_names[:-1])
            column_groups = models.feature_groups or {}
            requested = {name: list(column_groups.get(name, [name])) for name in features}
            return model_class_reliance(
                self._sample_problem, psi=self.psi, features=requested, feature_names=columns
            )

        return self._find(("reliance", self.psi, features), find)

    def ambiguity_by(self, people: CurrentSelection, column: str) -> pd.Series:
        """Exact ambiguity of each group of a column, over the people of ``people.few``."""
        flips = self.people(people.few)["flips"] == "yes"
        groups = group_labels(self._screen.group_table, column).iloc[people.few].to_numpy()
        shares: pd.Series = flips.groupby(groups).mean()
        return shares

    def person(self, position: int) -> dict[str, Any]:
        """Exact results for one person, as arguments of ``plots.plot_person``."""
        row = self.people(np.array([position])).iloc[0]
        ends = (float(row["exact_low"]), float(row["exact_high"])) if "exact_low" in row else None
        return {"exact": ends, "flip": self.flip_psi(position) if "flips" in row else None}

    def flip_psi(self, position: int) -> FlipPsi:
        row = taken(self._screen.rows, np.array([position]))

        def find() -> FlipPsi:
            low, high = flip_psi(self.problem, row)
            return FlipPsi(float(low[0]), float(high[0]))

        return self._find(("flip", position), find)

    def _make_problem(self) -> Any:
        chunks, screen = self._screen.chunks, self._screen
        if self.of_settings:
            session: Any = screen
            estimator = session.make_estimator()
            table = estimator._table(screen.rows, screen.targets)
            loss = estimator._loss_for(estimator._n_classes(table))
            problem = estimator._problem(table, loss, self.state.plan, None)[0]
            vars(problem)["feature_names"] = tuple(screen.rows.columns)
            return problem
        inputs = (screen.rows, screen.targets) if chunks is None else (chunks,)
        return set_problem(self.state.rashomon_set, *inputs)

    @property
    def _sample_problem(self) -> Any:
        """Problem on the rows in memory: all rows, or the sample of a chunked table."""
        if not self._screen.sample_words:
            return self.problem

        def find() -> Any:
            models, screen = self.state.rashomon_set, self._screen
            return set_problem(models, screen.rows, screen.targets, resampled=True)

        return self._find("held problem", find)

    def _find(self, name: Any, compute: Callable[[], Any]) -> Any:
        """Compute once a problem; draws and thresholds of one problem share the result."""
        models = self.state.rashomon_set
        keys: tuple[Any, ...] = (self.state.audit, self._screen.rows)
        if isinstance(models, RashomonSet):
            plan = models.plan
            keys += (models.least, plan.radius, plan.ridge, models.row_norm, models.link)
        elif self.of_settings:
            keys += (self.state.loss, self.state.plan.radius, self.state.plan.ridge)
        return self._results.get(keys, compute, name)


_MOST_KEPT = 500_000
_SAME = 1e-9
_NO_TREES = "Choose <b>sparse trees</b> under Models to count them all."
_NO_TABLE = "Needs the table: <b>Explorer(models, data=data)</b>."


_MOST_LISTED, _MOST_TRIES = 100, 16


class TreeAnswers:
    """Exact results over all trees of the current class, cached."""

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self._results = MeasureCache()
        self.forget = self._results.forget

    @property
    def why_not(self) -> str:
        """Why the trees cannot be counted; empty if they can."""
        if not family.draws_trees(self.state):
            return _NO_TREES
        return _NO_TABLE if self.state.data is None else ""

    @property
    def counted(self) -> trees.CountedTrees:
        return self._find("counted", self._count)

    @property
    def _counted_people(self) -> trees.CountedTrees:
        """All trees counted on the rows in memory: of a chunked table, on its sample."""
        data = self.state.data
        if not table_rows(data).is_chunked:
            return self.counted
        estimator = family.tree_estimator(self.state, None)
        return self._find("counted people", lambda: estimator.counted(data.frame, data.y))

    @property
    def questions(self) -> tuple[str, ...]:
        questions, schema = family.tree_questions(self.state.data), self.state.data.schema
        return replace(questions, names=family.names_in_words(questions.names, schema)).in_words

    def sizes(self) -> pd.DataFrame:
        """Count the trees by leaves, for thresholds from 0 to 1.5 times the slider's ψ."""
        psi = float(self.state.psi)
        psis = np.unique([*np.linspace(0.0, 1.5 * psi, 31), psi])
        counts = self.counted.curve(psis)
        leaves = pd.Index(range(1, counts.shape[1] + 1), name="leaves")
        return pd.DataFrame(counts.T, index=leaves, columns=pd.Index(psis, name="ψ"))

    def flips(self) -> pd.DataFrame:
        """Least ψ at which each person's label flips, and the other label."""

        def find() -> pd.DataFrame:
            losses = trees.least_losses(self.counted) - self.counted.least
            losses = losses[table_rows(self.state.data).positions]
            second = np.argsort(losses, axis=1, kind="stable")[:, 1]
            psi = np.maximum(losses[np.arange(len(losses)), second], 0.0)
            classes = np.array(self.state.data.classes, dtype=object)
            codes = {"label": classes[second], "code": second, "best": losses.argmin(axis=1)}
            index = pd.Index(range(len(psi)), name="person")
            return pd.DataFrame({"psi": psi, **codes}, index=index)

        return self._find("flips", find)

    def one_by_one(self) -> pd.DataFrame:
        """Label of some people by the best tree, and the least ψ at which it flips."""
        flips = self.flips()
        flips = flips.iloc[sample_rows(len(flips), MOST_PEOPLE)]
        ends = {"lower": flips["psi"], "upper": flips["psi"]}
        return pd.DataFrame({"label": flips["best"] == len(self.state.data.classes) - 1, **ends})

    def features(self) -> pd.DataFrame:
        psi = float(self.state.psi)

        def find() -> pd.DataFrame:
            table = trees.feature_table(self.counted, psi)
            return table.set_axis(pd.Index(self.questions, name=table.index.name))

        return self._find(("features", psi), find)

    def parity(self, column: str, label: int | None = None) -> pd.DataFrame:
        """Least loss for each gap of a label's rate between the groups of a column."""
        front, minimum = self._front(column, label), self._counted_people.least
        table = pd.DataFrame({"beyond": front.losses - minimum, "gap": front.gaps})
        table.attrs["exact"] = front.exact
        return table.rename_axis("tree")

    def fairest(self, column: str, label: int | None = None) -> PredictorSet:
        tree = self._front(column, label).tree(-1)
        return self._as_predictor_set(tree, self._counted_people)

    def drawn_gaps(self, models: Any, column: str, label: int | None = None) -> pd.DataFrame:
        """Excess loss and gap of drawn trees, as in `parity`; empty for another class."""
        if not self._are_of_this_class(models):
            return pd.DataFrame({"beyond": [], "gap": []})
        data = self.state.data
        names, codes = np.unique(group_labels(data, column).to_numpy(), return_inverse=True)
        has_label = models.labels(tree_rows(data)) == self._label(label)
        rates = np.array([has_label[:, codes == code].mean(axis=1) for code in range(len(names))])
        gaps = rates.max(axis=0) - rates.min(axis=0)
        return pd.DataFrame({"beyond": models.losses - models.least, "gap": gaps})

    def _are_of_this_class(self, models: Any) -> bool:
        """Whether drawn trees have the class, loss and rows of the current settings."""
        planned, counted = getattr(models, "plan", None), self.counted
        if planned is None or not planned.of_trees or planned.request.costs:
            return False
        questions = family.tree_questions(self.state.data).declared
        drawn = trees.TreeClass(
            len(questions),
            planned.request.most_leaves,
            planned.request.max_depth,
            planned.request.n_labels,
        )
        return (
            planned.request.questions == questions
            and drawn.sizes == counted.trees.sizes
            and planned.request.leaf_penalty == counted.leaf_penalty
            and abs(models.least - counted.least) <= _SAME
        )

    def _front(self, column: str, label: int | None) -> trees.ParityFront:
        psi, code = float(self.state.psi), self._label(label)
        groups = group_labels(self.state.data, column).to_numpy()
        return self._find(
            ("parity", column, code, psi),
            lambda: trees.parity_front(
                self._counted_people, groups, psi, label=code, most=_MOST_KEPT, random_state=0
            ),
        )

    def _label(self, label: int | None) -> int:
        return len(self.state.data.classes) - 1 if label is None else label

    def flipping(self, person: int) -> PredictorSet:
        code = int(self.flips()["code"].iloc[person])
        row = int(table_rows(self.state.data).positions[person])
        return self._as_predictor_set(trees.best_tree_predicting(self.counted, row, code))

    def asking(self, question: str) -> PredictorSet:
        return self._as_predictor_set(
            trees.best_using(self.counted, self.questions.index(question))
        )

    def without(self, question: str) -> PredictorSet:
        return self._as_predictor_set(
            trees.best_avoiding(self.counted, self.questions.index(question))
        )

    def listed(self, leaves: int = 0, asks: str = "", avoids: str = "") -> PredictorSet:
        """All trees within ψ, or 100 uniform draws of more, that pass the filters, best first."""
        psi, questions = float(self.state.psi), self.questions

        def find() -> tuple[list[Node], bool]:
            n_trees, by_loss = self.counted.size(psi), dict[Node, float]()
            for seed in range(_MOST_TRIES):  # the exact count says when all are found
                drawn, losses = self.counted.uniform_trees(4 * _MOST_LISTED, psi, seed)
                by_loss.update(zip(drawn, losses.tolist(), strict=True))
                if len(by_loss) >= min(n_trees, _MOST_LISTED):
                    break
            listed = sorted(list(by_loss)[:_MOST_LISTED], key=lambda tree: by_loss[tree])
            return listed, len(listed) == n_trees

        listed, complete = self._find(("listed", psi), find)
        chosen = [
            tree
            for tree in listed
            if leaves in (0, count_leaves(tree))
            and (not asks or questions.index(asks) in tree_columns(tree))
            and (not avoids or questions.index(avoids) not in tree_columns(tree))
        ]
        shown = self.counted.as_set(chosen, psi=psi)
        whole = complete and len(chosen) == len(listed)
        return replace(shown, classes=tuple(self.state.data.classes), complete=whole)

    def _count(self) -> trees.CountedTrees:
        inputs = table_rows(self.state.data).tree_inputs
        counted = family.tree_estimator(self.state, None).counted(*inputs)
        release_freed_memory()  # counting takes several times the memory of its result
        return counted

    def _as_predictor_set(
        self, tree: Node, counted: trees.CountedTrees | None = None
    ) -> PredictorSet:
        counted = counted or self.counted
        both = [counted.best(), tree]
        losses = [counted.loss(count_leaves(node), counted.errors(node)) for node in both]
        predictor_set = counted.as_set(both, np.array(losses), float(self.state.psi))
        return replace(predictor_set, classes=tuple(self.state.data.classes))

    def _find(self, name: Any, compute: Callable[[], Any]) -> Any:
        state = self.state
        keys = (state.data, state.max_leaves, state.max_depth, state.leaf_penalty)
        return self._results.get(keys, compute, name)
