"""Numbers of an audit read off a sample of models: lower bounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rashomon_explorer import measures
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.progress import progress
from rashomon_explorer.audits import answers
from rashomon_explorer.audits.boards import StoredModel
from rashomon_explorer.audits.group_rates import accepted_code, group_names, pair_name
from rashomon_explorer.audits.models import row_labels
from rashomon_explorer.audits.sampled import SampledSet
from rashomon_explorer.measures.multiplicity.scores import conflicts
from rashomon_explorer.measures.ranges import people_ranges
from rashomon_explorer.sets.predictions import row_losses

_SWITCHED_MODELS = 16  # each predicts all rows once for every feature
_SWITCHES = 5  # of each column for the model in use, as scikit-learn's default


class ModelAnswers:
    """Numbers over a sample of good models."""

    inputs: answers.AuditInputs
    models: SampledSet
    kind: ClassVar[str] = "sampled"
    has_coefficients: ClassVar[bool] = False
    any_psi: ClassVar[bool] = False  # whether the models at another threshold are known

    @property
    def has_gaps(self) -> bool:
        """Whether a person has one score."""
        return self.models.n_classes <= 2

    @property
    def has_importance(self) -> bool:
        """Whether every model predicts rows with a changed column."""
        estimators = getattr(self.models.models, "estimators", ())
        return not any(isinstance(model, StoredModel) for model in estimators)

    @property
    def score_unit(self) -> str:
        """Unit of scores and gaps."""
        if not self.models.classes:
            return "units of the target"
        scored = self.inputs.model.score_class or repr(self.models.classes[-1])
        kind = "share labelled" if self.models.loss == "zero_one" else "probability of"
        return f"{kind} {scored}"

    @property
    def model_rows(self) -> Any:
        """Rows of the fit as the models take them."""
        return self.inputs.model.fit_rows

    @cached_property
    def model_scores(self) -> FloatArray:
        """Scores (n_models, n_rows[, n_classes]) of the people of the fit."""
        return np.asarray(self.models.scores(self.model_rows))

    @cached_property
    def _best(self) -> FloatArray:
        return np.asarray(self.models.best_scores(self.model_rows))

    @cached_property
    def label_codes(self) -> NDArray[Any]:
        """Codes (n_models, n_rows) of the labels that the models give the people of the fit."""
        return self.models.labels(self.model_rows)

    def _codes(self) -> NDArray[Any]:
        return self.models.best_labels(self.model_rows)

    @cached_property
    def _others(self) -> NDArray[np.bool_]:
        """Whether each model (n_models, n_rows) gives another label than the one in use."""
        return np.asarray(self.label_codes != self._codes())

    @cached_property
    def decided(self) -> pd.DataFrame:
        """Whether some model flips each person's label; one that does proves it."""
        codes, flips = self._codes(), self._others.any(axis=0)
        table = {"label": codes, "flips": flips, "decided": flips}
        return answers.marked(pd.DataFrame(table, index=self.inputs.index), answers.SAMPLED)

    @property
    def own_flips(self) -> int | None:
        """People whose label the same model flips if it is fitted without them; None if unknown."""
        if not self.models.classes or "as given" not in self.models.kinds:
            return None
        return int(self._others[self.models.kinds.index("as given")].sum())

    def flips(self) -> pd.DataFrame:
        """Label, whether a model flips it, the least excess of one that does, conflict ratio."""
        return self._flips(self._codes(), self._others, self.inputs.index)

    def flips_of(self, rows: Any) -> pd.DataFrame:
        """Flips of the rows of another table."""
        rows_taken = self.inputs.model.taken(rows)
        codes = self.models.best_labels(rows_taken)
        return self._flips(codes, self.models.labels(rows_taken) != codes, row_labels(rows))

    def _flips(self, codes: NDArray[Any], others: NDArray[Any], index: pd.Index) -> pd.DataFrame:
        excess = np.maximum(np.asarray(self.models.excess), 0.0)[:, None]
        flips = others.any(axis=0)
        columns = {
            "label": self.inputs.model.labels(codes),
            "flips": flips,
            "decided": flips,
            "psi_low": 0.0,
            "psi_high": np.where(others, excess, np.inf).min(axis=0),
            "conflict_ratio": others.mean(axis=0),
        }
        return answers.marked(pd.DataFrame(columns, index=index), answers.SAMPLED)

    def scores(self, rows: Any) -> pd.DataFrame:
        """Range of each person's prediction over the models, and whether a label flips."""
        return self._ranges(self.inputs.model.taken(rows)).set_axis(row_labels(rows), axis=0)

    def _ranges(self, rows: Any) -> pd.DataFrame:
        scores, best = np.asarray(self.models.scores(rows)), self.models.best_scores(rows)
        flips = None
        if self.models.classes:
            codes = self.models.best_labels(rows)
            flips = (self.models.labels(rows) != codes).any(axis=0)
        if scores.ndim == 3:  # the probability of the label in use
            each = np.arange(len(best))
            scores, best = scores[:, each, codes], best[each, codes]
        every = np.concatenate([scores, best[None]])
        ends = {"low": every.min(axis=0), "fitted": best, "high": every.max(axis=0)}
        frame = pd.DataFrame(ends)
        if flips is not None:  # a model that flips proves it; none that does not
            frame = frame.assign(flips=flips, decided=flips)
        return answers.marked(frame, answers.SAMPLED)

    def fit_ranges(self) -> pd.DataFrame:
        """Range of the prediction of each person of the fit."""
        return self._ranges(self.model_rows).set_axis(self.inputs.index, axis=0)

    def people(self) -> pd.DataFrame:
        """Prediction of each person of the fit, and its range over the models and this one."""
        table = people_ranges(self.models, self.model_rows).reset_index(drop=True)
        table["drawn_low"] = table[["best", "drawn_low"]].min(axis=1)
        table["drawn_high"] = table[["best", "drawn_high"]].max(axis=1)
        return table.assign(drawn_flips=self._others.mean(axis=0)) if self.models.classes else table

    @cached_property
    def model_rates(self) -> pd.DataFrame:
        """Rates (n_models, n_groups) of the wanted label, without those of the model in use."""
        accepted = self.label_codes == accepted_code(self.inputs.model)
        return pd.DataFrame(self._group_means(accepted, group_names(self.inputs.groups)))

    def _group_means(self, values: NDArray[Any], names: Sequence[Any]) -> dict[Any, FloatArray]:
        """Weighted mean (n_models,) of values (n_models, n_rows) over each group's people."""
        groups, weight = self.inputs.groups.to_numpy(), self.inputs.model.row_weights
        return {
            name: np.average(values[:, groups == name], axis=1, weights=weight[groups == name])
            for name in names
        }

    def gaps(self, compared: Sequence[Any] | None = None) -> pd.DataFrame:
        """Range over the models of the difference in mean prediction between two groups."""
        groups = self.inputs.groups
        every = np.concatenate([self._best[None], self.model_scores])
        means = self._group_means(every, group_names(groups, compared))
        rows = {}
        for first, second in combinations(means, 2):
            gap = means[first] - means[second]
            ends = {"low": gap.min(), "fitted": gap[0], "high": gap.max()}
            rows[pair_name(groups.name, first, second)] = ends
        table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("gap")
        return answers.marked(answers.with_sign(table), answers.SAMPLED)

    @cached_property
    def _switched(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Mean change of the score, and rise of the loss, by model (in use first) and feature."""
        models = self.models[: min(_SWITCHED_MODELS, self.models.n_draws)]
        changed_scores = getattr(models.models, "changed_scores", models.scores)
        table, shuffles = self.inputs.model.table, self._shuffles()
        cases = (
            (models.best_scores, self._best[None], shuffles),
            (changed_scores, self.model_scores[: models.n_draws], shuffles[:1]),
        )
        moved, rises = {}, {}
        for name, positions in progress(self._features().items(), "importance"):
            changes = []
            for predict, before, orders in cases:
                pairs = []
                for order in orders:
                    shuffled = table.copy()
                    for position in positions:
                        shuffled.isetitem(position, table.iloc[:, position].array.take(order))
                    after = predict(self.inputs.model.taken(shuffled)).reshape(before.shape)
                    change = np.abs(after - before)
                    change = change.sum(axis=2) if change.ndim == 3 else change  # over classes
                    rise = self._losses(after) - self._losses(before)
                    pairs.append((change.mean(axis=1), rise))
                changes.append(np.mean(pairs, axis=0))
            moved[name], rises[name] = np.concatenate(changes, axis=1)
        return pd.DataFrame(moved), pd.DataFrame(rises)

    def _features(self) -> dict[str, list[int]]:
        """Places in the table of the columns of each feature to report; equal names together."""
        columns: dict[str, list[int]] = {}
        for position, name in enumerate(self.inputs.model.table.columns):
            columns.setdefault(str(name), []).append(position)
        return answers.listed_features(self.inputs.features, columns)

    def _shuffles(self) -> list[NDArray[np.intp]]:
        """Orders of the rows, those of ``permutation_importance`` with the audit's seed."""
        stream, order = np.random.RandomState(self.models.seed), np.arange(len(self.inputs.index))
        shuffles, rows = [], order.copy()
        for _ in range(_SWITCHES):
            stream.shuffle(order)
            rows = rows[order]
            shuffles.append(rows)
        return shuffles

    def _losses(self, scores: FloatArray) -> FloatArray:
        certain = self.models.loss == "zero_one"
        values, _ = row_losses(
            scores, self.inputs.model.targets, classes=self.models.classes, certain=certain
        )
        return np.asarray(np.average(values, axis=1, weights=self.inputs.model.row_weights))

    def importance(self) -> pd.DataFrame:
        """Mean change of the prediction when a feature is switched between people."""
        moved = self._switched[0]
        return answers.spread(moved.iloc[1:], moved.iloc[:1])

    def reliance(self) -> pd.DataFrame:
        """Rise of the loss when a feature is switched between people."""
        rises = self._switched[1]
        return answers.spread(rises.iloc[1:], rises.iloc[:1])

    def accuracy(self, flips: pd.DataFrame) -> pd.DataFrame:
        """Conflict ratio, flip, largest change of the score and correctness of each person."""
        differs = self._others
        table = conflicts(self.model_scores, self._best, self._codes()).assign(
            conflict_ratio=differs.mean(axis=0), flips=np.asarray(differs.any(axis=0))
        )
        labels = self.inputs.model.labels(flips["label"])
        table["correct"] = np.asarray(labels) == self.inputs.model.targets
        return answers.marked(table.set_axis(self.inputs.index, axis=0), answers.SAMPLED)

    def recourse(self, rows: Any, changeable: Any, **options: Any) -> Any:
        """Raise TypeError: only an exact set can prove that no good model refuses."""
        raise TypeError("recourse needs an exact audit, of a linear model")

    def decide_or_abstain(self, rows: Any) -> pd.Series:
        """Label of each person on which all models agree with a clear lead; otherwise missing."""
        model, model_rows = self.inputs.model, self.inputs.model.taken(rows)
        codes = self.models.best_labels(model_rows)
        scores = np.asarray(self.models.scores(model_rows))
        agreed = (self.models.labels(model_rows) == codes).all(axis=0)
        if len(scores) > 1 and getattr(model.decision, "threshold", None) is None:
            agreed &= measures.decide_or_abstain(scores) == codes
        labels = pd.Series(model.labels(codes), row_labels(rows), dtype=object, name="label")
        return labels.where(agreed, None)


@dataclass(frozen=True, eq=False)
class SampledAnswers(ModelAnswers):
    """Numbers over refits, fitted models or stored predictions that are shown to be good."""

    inputs: answers.AuditInputs
    models: SampledSet
