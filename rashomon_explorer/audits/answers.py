"""Numbers of an audit proved over the exact set."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rashomon_explorer import measures
from rashomon_explorer._utils.arrays import FloatArray, likeliest
from rashomon_explorer.audits.columns import shape_rows
from rashomon_explorer.audits.group_rates import group_names, pair_name
from rashomon_explorer.audits.models import codes_of_scores, linear_scores, row_labels
from rashomon_explorer.audits.table_recourse import table_recourse
from rashomon_explorer.audits.tolerance import best_without
from rashomon_explorer.exceptions import MissingAnswerError
from rashomon_explorer.measures.ranges import Recourse, proved_people
from rashomon_explorer.measures.reliance.class_reliance import takes_seconds
from rashomon_explorer.mechanisms.hit_and_run import uniform_models
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.sets import RashomonSet
from rashomon_explorer.sets.linear import from_draws
from rashomon_explorer.sets.scores import LINKS

NOT_PRIVATE = "not private: for you, not for publication"
SAMPLED = "sampled: at least"
NO_LABELS = "labels need classes, and this model predicts numbers: use .scores"
NO_IMPORTANCE = "importances need models that predict changed rows, and these are predictions"
NO_GROUPS = "no groups were given: audit(model, X, y, groups=...)"
_ENDS = {"low_outer": "low", "best": "fitted", "high_outer": "high"}
_PROVED = ["low_outer", "low", "high", "high_outer"]
_OPEN = "undecided"  # of proved_people
_PEOPLE_TOLERANCE = 1e-3  # of a person's range, relative
_MOVE_SECONDS = 0.1  # nominal, of searches of people; an ellipsoid bounds the others
_RELIANCE_SECONDS = 2.5  # nominal, for closer ranges of the features that matter most
_SAMPLED_SECONDS = 3.0  # nominal, of sampled reliance
_RELIANCE_MODELS, _FEWEST_MODELS, _FEWEST_ROWS = 32, 4, 200
_SWITCH, _SWITCHED_ROW, _SWITCHED_PAIR = 3e-4, 1.7e-7, 4e-8  # seconds of a model and a feature
_RELIANCE_ENDS = {
    "lower": "low",
    "best": "fitted",
    "upper": "high",
    "lower_attained": "low_attained",
    "upper_attained": "high_attained",
}
_CELLS = 4_000_000  # models × rows of one batch


@dataclass(frozen=True, eq=False)
class AuditInputs:
    """What all numbers of an audit are computed from."""

    model: Any  # an AuditedModel
    psi: float  # largest excess loss of a good model
    groups: Any  # Series (n_rows,), or None
    features: Any  # of the table, for importances; None takes each column once
    n_models: int  # for numbers that are averages over the set
    rng: Callable[[], np.random.Generator]  # returns a generator with the audit's seed
    seconds: float | None = 4.0  # nominal, of searches of single people; None searches all

    @property
    def index(self) -> pd.Index:
        """Index of the rows."""
        return self.model.table.index

    def named_features(self) -> dict[str, list[int]]:
        """Columns that the last step sees for each feature to report."""
        return listed_features(self.features, self.model.features)


def listed_features(listed: Any, columns: dict[str, list[int]]) -> dict[str, list[int]]:
    """Positions of the columns of each listed feature, by default of each name once."""
    if listed is None:
        return columns
    if not hasattr(listed, "items"):
        listed = {" + ".join(_names(entry)): entry for entry in listed}
    names_by_feature = {feature: _names(entry) for feature, entry in listed.items()}
    for name in chain.from_iterable(names_by_feature.values()):
        if name not in columns:
            raise ValueError(f"unknown feature {name!r}; the features are {', '.join(columns)}")
    return {
        feature: [column for name in names for column in columns[name]]
        for feature, names in names_by_feature.items()
    }


def _names(entry: Any) -> list[str]:
    is_single = isinstance(entry, str) or not np.iterable(entry)
    return [str(name) for name in ([entry] if is_single else entry)]


def marked(table: pd.DataFrame, mark: str) -> pd.DataFrame:
    """Table with the marks of a curator's numbers."""
    table.attrs.update(view="curator: not private", mark=mark)
    return table


def burden(inputs: AuditInputs, flips: pd.DataFrame, mark: str) -> pd.DataFrame:
    """People of each group, and who of them can flip, by count and by (weighted) share."""
    can, weight = flips["flips"].to_numpy(dtype=int), inputs.model.row_weights
    columns = {"people": 1, "flips": can, "weight": weight, "flipped": can * weight}
    sums = pd.DataFrame(columns).groupby(inputs.groups.to_numpy(), observed=True).sum()
    table, total = sums[["people", "flips"]].copy(), max(float(sums["flipped"].sum()), 1e-300)
    table["share"] = sums["flipped"] / sums["weight"]
    table["share_of_flips"] = sums["flipped"] / total
    table["ratio"] = table["share"] / (total / weight.sum())
    table.index.name = inputs.groups.name or "group"
    return marked(table, mark)


@dataclass(frozen=True, eq=False)
class CertifiedAnswers:
    """Numbers proved over every model of a convex problem within ψ."""

    inputs: AuditInputs
    problem: Any
    kind: ClassVar[str] = "exact"
    has_coefficients: ClassVar[bool] = True
    any_psi: ClassVar[bool] = True
    has_gaps: ClassVar[bool] = True
    has_importance: ClassVar[bool] = True

    @property
    def score_unit(self) -> str:
        """Unit of scores and gaps."""
        link, scored = self.problem.loss.link, self.inputs.model.score_class
        if link == "identity":
            return "units of the target"
        unit = "log-odds" if link in ("logistic", "softmax") else "score"
        return f"{unit} of {scored}" if scored else unit

    @property
    def cut(self) -> float:
        """Score above which a person gets the second of two classes."""
        return float(self.inputs.model.cut(self.problem.loss.link))

    @cached_property
    def models(self) -> RashomonSet:
        """Models drawn uniformly from the exact set, for averages over it."""
        inputs = self.inputs
        return drawn_set(self.problem, inputs.psi, inputs.n_models, inputs.rng(), inputs.model)

    @cached_property
    def best_decided(self) -> pd.DataFrame:
        """Label of the best model for each person, and whether another good model flips it."""
        return self._best_flips(self.rows, self.inputs.index)

    def _best_flips(self, rows: FloatArray, index: pd.Index) -> pd.DataFrame:
        how: dict[str, Any] = {"threshold": self.cut, "seconds": self.inputs.seconds}
        table = measures.exact_flips(self.problem, self.inputs.psi, rows, **how)
        return table.set_axis(index, axis=0)

    @cached_property
    def decided(self) -> pd.DataFrame:
        """Whether a good model gives each person another label than the fitted one."""
        return self._beside_fitted(self.best_decided, self.rows)

    def _beside_fitted(self, table: pd.DataFrame, rows: FloatArray) -> pd.DataFrame:
        """Labels of the fitted model; the best model flips those that it does not share."""
        scores = linear_scores(self.problem, self.inputs.model.theta, rows)
        codes = codes_of_scores(scores, self.cut)
        differs = codes != table["label"].to_numpy()
        flips, decided = table["flips"] | differs, table["decided"] | differs
        return table.assign(label=codes, flips=flips, decided=decided)

    @property
    def model_rows(self) -> pd.DataFrame:
        """Rows of the fit as :attr:`models` take them."""
        return pd.DataFrame(self.rows, columns=self.inputs.model.names)

    @property
    def rows(self) -> FloatArray:
        """Rows of the fit as the last step sees them."""
        return np.asarray(self.inputs.model.rows, dtype=float)

    def flips(self) -> pd.DataFrame:
        """Label, whether it can flip, the least ψ at which it does, and the conflict ratio."""
        return self._flips(self.decided, self.rows)

    def flips_of(self, rows: Any) -> pd.DataFrame:
        """Flips of the rows of another table."""
        encoded = np.asarray(self.inputs.model.encoded(rows), dtype=float)
        best = self._best_flips(encoded, row_labels(rows))
        return self._flips(self._beside_fitted(best, encoded), encoded)

    def _flips(self, decided: pd.DataFrame, rows: FloatArray) -> pd.DataFrame:
        low = np.where(decided["decided"], self.inputs.psi, 0.0)
        high = np.full(len(decided), np.inf)
        can = decided["flips"].to_numpy()
        if can.any():
            low[can], high[can] = measures.flip_psi(self.problem, rows[can], threshold=self.cut)
            high[can] = np.minimum(high[can], self.inputs.psi)
            scores = linear_scores(self.problem, self.problem.minimum.theta, rows)
            best_differs = codes_of_scores(scores, self.cut) != decided["label"].to_numpy()
            low[best_differs] = high[best_differs] = 0.0  # the best model itself
        ratios = conflict_ratios(self.models, rows, decided["label"], self.cut)
        table = decided.assign(label=self.inputs.model.labels(decided["label"]))
        table = table[["label", "flips", "decided"]]
        table = table.assign(psi_low=low, psi_high=high, conflict_ratio=ratios)
        return marked(table, "exact; conflict_ratio: sampled")

    def coefficients(self) -> pd.DataFrame:
        """Range of each coefficient in the units of the table, and whether its sign is settled."""
        table = self.ranges(standardised=False)[list(_ENDS)].rename(columns=_ENDS)
        return marked(with_sign(table), "exact")

    def ranges(self, *, standardised: bool) -> pd.DataFrame:
        """Range of each coefficient as from :func:`exact_ranges`."""
        problem, model = self.problem, self.inputs.model
        table, (own, _) = self._coefficient_ranges.copy(), model.directions(problem)
        directions = model.directions(problem, standardised=standardised)[0]
        table["best"] = directions @ model.theta
        if standardised:  # a multiple of each direction
            factors = np.linalg.norm(directions, axis=1) / np.linalg.norm(own, axis=1)
            table[_PROVED] = np.where(factors[:, None] > 0, table[_PROVED], 0) * factors[:, None]
        return table.rename_axis(index="coefficient", columns=self.score_unit)

    @cached_property
    def _coefficient_ranges(self) -> pd.DataFrame:
        directions, names = self.inputs.model.directions(self.problem)
        return measures.exact_ranges(self.problem, self.inputs.psi, directions, names=names)

    def effects(self) -> pd.DataFrame:
        """Range of each coefficient but intercepts, per standard deviation, largest first."""
        ranges = self.ranges(standardised=True)
        is_effect = [str(name).split(": ")[-1] != "intercept" for name in ranges.index]
        table = ranges[is_effect]
        return table.iloc[np.argsort(-table["best"].abs().to_numpy(), kind="stable")]

    def shapes(self) -> pd.DataFrame:
        """Range of each column's function at its values, minus its mean over the rows."""
        problem, model, rows = self.problem, self.inputs.model, self.rows
        separate, mixing = model.separate_columns
        if not separate:
            why = "; ".join(dict.fromkeys(mixing.values())) or f"{model.name} uses no column"
            raise MissingAnswerError(f"no column has a function of its own: {why}")
        centred = rows - np.average(rows, axis=0, weights=model.row_weights)
        table = model.table.set_axis([*map(str, model.table)], axis=1)
        keys, parts, count = [], [], 0
        for name, positions in separate.items():
            shown_rows = shape_rows(table[name], centred[:, positions])
            cells = table[name].iloc[shown_rows]
            keys += [(name, "missing" if pd.isna(cell) else cell) for cell in cells]
            curve, factor = centred[np.ix_(shown_rows, positions)], np.ones(len(shown_rows))
            which = count + np.arange(len(shown_rows))
            if len(positions) == 1:  # the range of one coefficient, times the column
                curve, factor, which = np.ones((1, 1)), curve[:, 0], np.full(len(shown_rows), count)
            directions = np.zeros((len(curve), rows.shape[1] + problem.intercept))
            directions[:, positions] = curve
            count += len(curve)
            parts.append((directions, factor, which))
        index = pd.MultiIndex.from_tuples(keys, names=["feature", "value"])
        directions, factor, which = map(np.concatenate, zip(*parts, strict=True))
        if problem.loss.outputs > 1:
            of_class = count * np.arange(len(problem.class_scores))
            which = np.add.outer(of_class, which).ravel()
            directions = np.kron(problem.class_scores, directions)
            factor = np.tile(factor, len(of_class))
            index = pd.concat(dict.fromkeys(model.classes, index.to_frame()), names=["class"]).index
        ranges = measures.exact_ranges(problem, self.inputs.psi, directions)
        ranges["best"] = directions @ model.theta
        with np.errstate(invalid="ignore"):  # of a zero and an infinite end
            ends = ranges[list(_ENDS)].to_numpy()[which] * factor[:, None]
        ends = np.where(factor[:, None] < 0, ends[:, ::-1], ends)
        ends[factor == 0] = 0.0
        shapes = pd.DataFrame(ends, index, pd.Index(_ENDS.values(), name=self.score_unit))
        shapes = marked(with_sign(shapes), "exact")
        shapes.attrs["mixing"] = mixing
        return shapes

    def shape_sizes(self, shapes: pd.DataFrame) -> pd.DataFrame:
        """Bounds on the largest size of each column's function, and whether it can be constant."""
        low, high, fitted = shapes["low"], shapes["high"], shapes["fitted"].abs()
        least, greatest = np.maximum(np.maximum(low, -high), 0.0), np.maximum(-low, high)
        sizes = pd.DataFrame({"least": least, "fitted": fitted, "greatest": greatest})
        table = sizes.groupby(level="feature", sort=False).max()
        level, constant = self.problem.minimum.value + self.inputs.psi, []
        for name, size in table["least"].items():
            columns = np.array(self.inputs.model.separate_columns[0][name])
            good = not size and best_without(self.problem, columns) <= level
            constant.append("yes" if good else "no" if size else "undecided")
        return marked(table.assign(constant=constant), "exact")

    def people(self) -> pd.DataFrame:
        """Prediction of each person of the fit, its range, and whether the label can flip."""
        rows = self.rows
        table = proved_people(
            self.problem, self.inputs.psi, rows, threshold=self.cut, tolerance=_PEOPLE_TOLERANCE
        )
        if self.problem.loss.outputs == 1 and self._has_margins:
            ends = measures.exact_score_ranges(self.problem, self.inputs.psi, rows)
            for name, end in (("exact_low", "low"), ("best", "best"), ("exact_high", "high")):
                table[name] = ends[end].to_numpy()
        if self.problem.loss.outputs > 1:
            best = self.models.best_scores(rows)
            each, label = np.arange(len(best)), best.argmax(axis=1)
            drawn = self.models.scores(rows)[:, each, label]
            table = table.assign(best=best[each, label], drawn_low=drawn.min(axis=0))
            table = table.assign(drawn_high=drawn.max(axis=0))
        return table.reset_index(drop=True)

    @property
    def _has_margins(self) -> bool:
        return bool(self.problem.loss.link == "sign")

    def scores(self, rows: Any) -> pd.DataFrame:
        """Range of each person's prediction over the set, and whether the label can flip."""
        encoded = np.asarray(self.inputs.model.encoded(rows), dtype=float)
        index = row_labels(rows)
        if self.problem.loss.outputs == 1 and not self._has_margins:
            return self._prediction_ranges(encoded).set_axis(index, axis=0)
        ranges = measures.exact_score_ranges(self.problem, self.inputs.psi, encoded)
        scores = linear_scores(self.problem, self.inputs.model.theta, encoded)
        if self.problem.loss.outputs > 1:
            scores = scores @ self.problem.class_scores.T
            index = pd.MultiIndex.from_product([index, self.inputs.model.classes])
            index = index.set_names(["row", "class"])
        ranges["best"] = scores.ravel()
        ranges = ranges[list(_ENDS)].rename(columns=_ENDS)
        return marked(ranges.set_axis(index, axis=0), "exact")

    def fit_ranges(self) -> pd.DataFrame:
        """Range of the prediction of each person of the fit."""
        return self.scores(self.inputs.model.table)

    def _prediction_ranges(self, encoded: FloatArray) -> pd.DataFrame:
        ranges = proved_people(
            self.problem, self.inputs.psi, encoded, threshold=self.cut, tolerance=_PEOPLE_TOLERANCE
        )
        fitted = linear_scores(self.problem, self.inputs.model.theta, encoded)[:, 0]
        ranges["best"] = LINKS[self.problem.loss.link](fitted, (-1.0, 1.0))
        names = {"exact_low": "low", "best": "fitted", "exact_high": "high"}
        order = ["low", "fitted", "high"]
        if "flips" in ranges:  # as in the table of flips
            scores = linear_scores(self.problem, self.problem.minimum.theta, encoded)
            table = pd.DataFrame({"label": codes_of_scores(scores, self.cut)}, index=ranges.index)
            table = table.assign(flips=ranges["flips"] == "yes", decided=ranges["flips"] != _OPEN)
            ranges[["flips", "decided"]] = self._beside_fitted(table, encoded)[["flips", "decided"]]
            order += ["flips", "decided"]
        return marked(ranges.rename(columns=names)[order], "exact")

    def gaps(self, compared: Sequence[Any] | None = None) -> pd.DataFrame:
        """Range of the difference in mean score between each two groups."""
        groups = self.inputs.groups
        listed = group_names(groups, compared)
        inside = groups.isin(listed).to_numpy()
        ranges = measures.exact_group_gap(
            self.problem,
            self.inputs.psi,
            self.rows[inside],
            groups.to_numpy()[inside],
            sample_weight=self.inputs.model.row_weights[inside],
        )
        pairs = {f"{a} - {b}": pair_name(groups.name, a, b) for a, b in combinations(listed, 2)}
        table = ranges[list(_ENDS)].rename(columns=_ENDS)
        names = [pairs[gap] for gap in table.index.get_level_values(0)]
        if table.index.nlevels > 1:  # of each class
            labels = table.index.get_level_values(1)
            names = [f"{label}: {name}" for label, name in zip(labels, names, strict=True)]
        table = table.set_axis(pd.Index(names, name="gap"), axis=0)
        table = table.rename_axis(columns=self.score_unit)
        return marked(with_sign(table), "exact")

    def importance(self) -> pd.DataFrame:
        """Mean size of each feature's contribution to the score, over the models of the set."""
        features = self.inputs.named_features()
        values = measures.shap_importance(self.models, self.rows, features=features)
        fitted = measures.shap_importance(_only_best(self.models), self.rows, features=features)
        return spread(values, fitted)

    def reliance(self) -> pd.DataFrame:
        """Increase of the loss when a feature is switched between people, over the set."""
        features = self.inputs.named_features()
        if not self.has_exact_reliance:
            return self._sampled_reliance(features)
        proved = measures.model_class_reliance(
            self.problem, psi=self.inputs.psi, features=features, seconds=_RELIANCE_SECONDS
        )
        table = proved.rename(columns=_RELIANCE_ENDS)[list(_RELIANCE_ENDS.values())]
        return marked(table.sort_values("fitted", ascending=False), "exact")

    def _sampled_reliance(self, features: dict[str, list[int]]) -> pd.DataFrame:
        problem, targets = self.problem, np.asarray(self.inputs.model.targets)
        n_models, n_rows = reliance_size(problem, len(features), self.models.n_draws)
        some = np.sort(self.inputs.rng().permutation(problem.n)[:n_rows])
        drawn, best = (
            measures.model_reliance(models, self.rows[some], targets[some], features=features)
            for models in (self.models[:n_models], _only_best(self.models))
        )
        rows = "" if n_rows == problem.n else f" on {n_rows:,} of {problem.n:,} rows"
        return marked(spread(drawn, best), f"sampled: {n_models} models{rows}")

    @property
    def has_exact_reliance(self) -> bool:
        """Whether the range of reliance over the whole set can be bounded, and in seconds."""
        problem = self.problem
        if problem.l1 is not None or problem.row_space.flat.size or problem.loss.outputs > 1:
            return False
        loss, n_features = problem.loss, len(self.inputs.named_features())
        quick = takes_seconds(loss.link, problem.n, problem.p, n_features)
        return quick and loss.name in ("squared", "logistic")

    def accuracy(self, flips: pd.DataFrame) -> pd.DataFrame:
        """Conflict ratio, flip, largest change of the score and correctness of each person."""
        ratios = conflict_ratios(self.models, self.rows, flips["label"], self.cut)
        table = flips[["flips"]].assign(conflict_ratio=ratios)[["conflict_ratio", "flips"]]
        if self._has_margins:
            table["move"] = np.nan
        elif self.problem.loss.outputs > 1:
            scores, best = self.models.scores(self.rows), self.models.best_scores(self.rows)
            table["move"] = np.abs(scores - best).max(axis=(0, 2))
        else:
            how: dict[str, Any] = {"tolerance": _PEOPLE_TOLERANCE, "seconds": _MOVE_SECONDS}
            ends = measures.exact_score_ranges(self.problem, self.inputs.psi, self.rows, **how)
            low, middle, high = LINKS[self.problem.loss.link](
                ends[["low_outer", "best", "high_outer"]].to_numpy().T, (-1.0, 1.0)
            )
            table["move"] = np.maximum(high - middle, middle - low)
        labels = self.inputs.model.labels(flips["label"])
        table["correct"] = np.asarray(labels) == self.inputs.model.targets
        return marked(table, "exact; conflict_ratio: sampled")

    def recourse(self, rows: Any, changeable: Any, **options: Any) -> Recourse:
        """Least change of each person after which every good model accepts."""
        psi, minimum = self.inputs.psi, max(float(self.problem.minimum.value), 1e-300)
        options["scope"] = f"every good model ({100 * psi / minimum:.2g} % worse at most)"
        return table_recourse(self.problem, psi, self.inputs.model, rows, changeable, **options)

    def decide_or_abstain(self, rows: Any) -> pd.Series:
        """Label of each person on which every model of the set agrees; otherwise missing."""
        encoded = np.asarray(self.inputs.model.encoded(rows), dtype=float)
        best = self._best_flips(encoded, row_labels(rows))
        labels = pd.Series(self.inputs.model.labels(best["label"]), best.index, dtype=object)
        return labels.where(best["decided"] & ~best["flips"], None).rename("label")


def reliance_size(problem: Any, n_features: int, most: int) -> tuple[int, int]:
    """Models, and rows, whose reliance takes a few seconds, by the size of the table alone."""
    n, scores = problem.n, problem.loss.outputs
    if scores == 1:
        each = n_features * (_SWITCH + _SWITCHED_ROW * n)
        n_models = int(_SAMPLED_SECONDS / each)
        return min(most, max(_FEWEST_MODELS, min(_RELIANCE_MODELS, n_models))), n
    # Several scores need all pairs of rows.
    each = n_features * (scores + 1) * _SWITCHED_PAIR * min(most, _FEWEST_MODELS)
    n_rows = int((_SAMPLED_SECONDS / each) ** 0.5)
    return min(most, _FEWEST_MODELS), min(n, max(_FEWEST_ROWS, n_rows))


def _only_best(models: RashomonSet) -> RashomonSet:
    best = models.minimum
    return replace(models, coef=best.theta[None], losses=np.array([best.value]))


def with_sign(table: pd.DataFrame) -> pd.DataFrame:
    """Add whether both ends have one sign, and which."""
    above, below = table["low"] > 0, table["high"] < 0
    table["sign"] = np.select([above, below], ["+", "−"], "either")
    table["settled"] = above | below
    return table


def spread(values: pd.DataFrame, fitted: pd.DataFrame) -> pd.DataFrame:
    """Range over models of each feature's value, the fitted model's included, largest first."""
    every = pd.concat([fitted, values])
    table = pd.DataFrame({"low": every.min(), "fitted": fitted.iloc[0], "high": every.max()})
    table = table.sort_values("fitted", ascending=False).rename_axis("feature")
    return marked(table, SAMPLED)


def conflict_ratios(models: Any, rows: Any, codes: Any, cut: float = 0.0) -> FloatArray:
    """Share of the models (n_rows,) whose label for a person differs from the given code."""
    fitted, ratios = np.asarray(codes), []
    step = max(1, _CELLS // max(1, models.n_draws * models.n_classes))
    for start in range(0, len(fitted), step):
        part = slice(start, start + step)
        ratios.append((drawn_codes(models, rows[part], cut) != fitted[part]).mean(axis=0))
    return np.concatenate(ratios)


def drawn_codes(models: Any, rows: Any, cut: float = 0.0) -> NDArray[np.int_]:
    """Codes (n_models, n_rows) of the labels that drawn models give encoded rows."""
    if cut:
        return np.asarray(models.margins(rows) > cut, dtype=int)
    return np.asarray(likeliest(np.asarray(models.scores(rows))))


_MODEL = 2e-8  # nominal seconds of a model, per row and parameter
_SECONDS, _FEWEST = 0.7, 16  # nominal seconds of all models, and the least number of models


def usual_number(problem: Any, most: int) -> int:
    """Count the models that are drawn in a second, by the size of the table alone."""
    return min(most, max(_FEWEST, int(_SECONDS / (_MODEL * problem.n * problem.p))))


def _against_first(problem: Any, drawn: FloatArray) -> tuple[Any, FloatArray]:
    """Problem and models whose first class has the score 0, as in sets of linear models."""
    outputs, losses = problem.loss.outputs, problem.value(drawn.T)

    def referenced(theta: FloatArray) -> FloatArray:
        each = theta.reshape(len(theta), outputs, -1)
        return (each[:, 1:] - each[:, :1]).reshape(len(theta), -1)

    best = referenced(problem.minimum.theta[None])[0]
    problem_shape = SimpleNamespace(
        n=problem.n,
        p=len(best),
        # The same labels as by the largest score of a squared loss, too.
        loss=SimpleNamespace(name=problem.loss.name, link="softmax", outputs=outputs - 1),
        minimum=replace(problem.minimum, theta=best),
        row_norm=problem.row_norm,
        intercept=problem.intercept,
        value=lambda _: losses,
    )
    return problem_shape, referenced(drawn)


def drawn_set(
    problem: Any, psi: float, n_models: int, rng: np.random.Generator, model: Any
) -> RashomonSet:
    """Set of uniform models of the exact set, in the units of the rows of the problem."""
    drawn = uniform_models(problem, psi, n_models, rng)
    if problem.loss.outputs > 1:
        problem, drawn = _against_first(problem, drawn)
    return from_draws(
        problem,
        drawn,
        psi,
        feature_names=model.names,
        feature_groups=model.groups,
        classes=model.classes,
        mechanism="hit_and_run",
        guarantee=no_guarantee("uniform models of the set of a fitted model: curator only"),
    )
