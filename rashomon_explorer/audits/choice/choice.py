"""A model chosen from the set of an audit, with what is proved of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import FixedThresholdClassifier

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import ReprMixin, number, percent
from rashomon_explorer._utils.validation import check_count
from rashomon_explorer.audits.answers import NOT_PRIVATE, marked
from rashomon_explorer.audits.choice import labels, preferences
from rashomon_explorer.audits.choice.preferences import Limits, Narrowed, Preferred
from rashomon_explorer.audits.choice.region import Region
from rashomon_explorer.audits.choice.trees import choose_tree, question_features
from rashomon_explorer.audits.counted import CountedAnswers, tree_estimator
from rashomon_explorer.audits.group_rates import accepted_code, group_names, pair_name
from rashomon_explorer.audits.models import fitted_steps
from rashomon_explorer.exceptions import MissingAnswerError
from rashomon_explorer.sets.models.trees import Node, count_leaves, tree_columns


@dataclass(frozen=True, eq=False, repr=False)
class Choice(ReprMixin):
    """A good model that was chosen by a preference, with its certificate: not private.

    Made by :meth:`rashomon_explorer.audits.Audit.choose`.

    Parameters
    ----------
    audit : Audit
        Audit from whose good models it was chosen.
    theta : ndarray of shape (p,) or tree
        Parameters in the problem of the audit; of counted trees the tree, on their questions.
    preferred : tuple of Preferred
        Value and proved bound of each preference, in order.
    code : str
        Line of Python that repeats the choice.

    Attributes
    ----------
    model : estimator
        Copy of the audited model with other coefficients: its ``predict`` takes the raw table.
    excess : float
        Loss above the least one, at most ψ.
    certificate : DataFrame
        Per preference: value, proved bound on the best value, whether they meet, and how that is
        known.
    costs : DataFrame
        Loss, accuracy, features and gaps of the fitted and the chosen model.
    changed : DataFrame
        People whose label differs from that of the fitted model; of a regression everyone.
    coefficients : DataFrame
        Fitted and chosen coefficients in the units of the table; of trees their lines.
    card : DataFrame
        Points of a scorecard.
    """

    audit: Any = field(repr=False)
    theta: Any
    preferred: tuple[Preferred, ...]
    code: str

    @cached_property
    def model(self) -> Any:
        """Fitted estimator: the audited pipeline with the chosen coefficients."""
        audited = self.audit.inputs.model
        model = deepcopy(audited.original)
        last = fitted_steps(model)[1]
        theta = -self.theta if audited.reversed else self.theta
        each = theta.reshape(self.audit.problem.loss.outputs, -1)
        if self.audit.problem.intercept:
            each, intercept = each[:, :-1], each[:, -1]
            last.intercept_ = np.reshape(intercept, np.shape(last.intercept_))[()]
        last.coef_ = each.reshape(np.shape(last.coef_)).copy()
        decision = audited.decision
        if decision is None or not decision.replaced:
            return model
        rule = FixedThresholdClassifier(
            FrozenEstimator(model),
            threshold=decision.threshold,
            pos_label=decision.positive,
            response_method=decision.response,
        )
        return rule.fit(audited.fit_rows, audited.targets)

    @property
    def excess(self) -> float:
        """Loss of the chosen model above the least one, in the unit of ψ."""
        return float(self._excesses[1])

    @property
    def _models(self) -> FloatArray:
        """Parameters (p, 2) of the fitted and of the chosen model."""
        return np.stack([self.audit.inputs.model.theta, self.theta], axis=1)

    @property
    def _excesses(self) -> FloatArray:
        """Excess losses (2,) of the fitted and of the chosen model."""
        problem = self.audit.problem
        return np.asarray(problem.value(self._models) - problem.minimum.value)

    @property
    def _sizes(self) -> dict[str, Any]:
        """Features of the fitted and of the chosen model."""
        outputs = self.audit.problem.loss.outputs
        uses = np.tile(preferences.table_features(self.audit)[1], outputs)
        models = self._models.T
        return {"features": [int(uses[:, theta != 0].any(axis=1).sum()) for theta in models]}

    @property
    def psi(self) -> float:
        """Largest excess loss of a good model."""
        return float(self.audit.psi)

    @cached_property
    def certificate(self) -> pd.DataFrame:
        """Per preference: value, proved bound, whether they meet, the unit, and the proof."""
        columns = ["value", "bound", "optimal", "unit", "proof"]
        rows = {each.name: [getattr(each, name) for name in columns] for each in self.preferred}
        table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
        table.attrs.update(excess=self.excess, psi=self.psi)
        return marked(table.rename_axis("preference"), "exact")

    @cached_property
    def _predictions(self) -> tuple[Any, Any]:
        """Predictions of the fitted and of the chosen model for the rows of the fit."""
        audited = self.audit.inputs.model
        if not audited.classes:
            return tuple(
                np.asarray(model.predict(audited.fit_rows), dtype=float).ravel()
                for model in (audited.original, self.model)
            )  # type: ignore[return-value]  # two
        predicted = np.asarray(self.model.predict(audited.fit_rows))
        return audited.labels(audited.codes), predicted

    @cached_property
    def changed(self) -> pd.DataFrame:
        """People whose label changes, with both labels; both predictions of a regression."""
        before, after = self._predictions
        index = self.audit.inputs.index
        if not self.audit.inputs.model.classes:
            return pd.DataFrame({"fitted": before, "chosen": after}, index=index)
        table = pd.DataFrame({"fitted label": before, "chosen label": after}, index=index)
        return table[before != after]

    @cached_property
    def coefficients(self) -> pd.DataFrame:
        """Per coefficient, in the units of the table: of the fitted and of the chosen model."""
        audited, problem = self.audit.inputs.model, self.audit.problem
        matrix, names = audited.directions(problem)
        table = pd.DataFrame(
            {"fitted": matrix @ audited.theta, "chosen": matrix @ self.theta},
            index=pd.Index(names, name="coefficient"),
        )
        return marked(table.rename_axis(columns=self.audit.answers.score_unit), "exact")

    @cached_property
    def costs(self) -> pd.DataFrame:
        """Per measure: number of the fitted and of the chosen model on the rows of the fit."""
        audited = self.audit.inputs.model
        rows: dict[str, Any] = {"excess loss": self._excesses}
        score, measure = ("accuracy", accuracy_score) if audited.classes else ("R²", r2_score)
        rows[score] = [
            measure(audited.targets, values, sample_weight=audited.row_weights)
            for values in self._predictions
        ]
        rows |= self._sizes
        if self.audit.inputs.groups is not None:
            rows |= self._gaps()
        table = pd.DataFrame.from_dict(rows, orient="index", columns=["fitted", "chosen"])
        return marked(table.rename_axis("measure"), "exact")

    def _gaps(self) -> dict[str, Any]:
        groups, audited = self.audit.inputs.groups, self.audit.inputs.model
        names = group_names(groups)
        pairs = [pair_name(groups.name, *pair) for pair in combinations(names, 2)]
        gaps: dict[str, Any] = {}
        if self.audit.problem is not None and self.audit.problem.loss.outputs == 1:
            values = preferences.gap_normals(self.audit) @ self._models
            gaps |= {f"score gap · {pair}": gap for pair, gap in zip(pairs, values, strict=True)}
        code = accepted_code(audited) if audited.classes else None
        if code is None:
            return gaps
        accepted = np.stack([each == audited.classes[code] for each in self._predictions])
        rates = combinations(preferences.group_shares(self.audit) @ accepted.T, 2)
        for pair, (first, second) in zip(pairs, rates, strict=True):
            gaps[f"rate gap · {pair}"] = np.round(first - second, 12)
        return gaps

    @cached_property
    def card(self) -> pd.DataFrame:
        """Points of each column in the units of the table: score = multiplier·total + constant.

        ``attrs`` holds ``multiplier`` and ``constant``; a fitted person's total is the sum of
        points times values.
        """
        multiplier = self.preferred[-1].multiplier
        if not multiplier:
            raise MissingAnswerError('points need choose("card"), or "card" as the last preference')
        model, problem = self.audit.inputs.model, self.audit.problem
        units = [
            (each.slope, each.offset) if each.in_units else (1.0, 0.0) for each in model.columns
        ]
        slopes, offsets = np.array(units).T
        theta = self.theta[: len(slopes)]
        points = np.rint(theta * slopes / multiplier).astype(int)
        constant = float(theta @ offsets) + (float(self.theta[-1]) if problem.intercept else 0.0)
        table = pd.DataFrame({"points": points}, index=pd.Index(model.names, name="column"))
        table.attrs.update(multiplier=multiplier, constant=constant)
        return marked(table, "exact")

    def _title(self) -> str:
        names = ", then ".join(each.name for each in self.preferred) or "least loss"
        return f"Chosen model: {names} · {NOT_PRIVATE}"

    def _facts(self) -> list[tuple[str, str]]:
        return [*self.facts, ("repeat", self.code)]

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Names and texts of what is proved and what it costs."""
        facts = [("excess loss", f"{number(self.excess)} of at most ψ = {number(self.psi)}")]
        facts += [(each.name, each.text) for each in self.preferred]
        for name, (before, after) in self.costs.drop(index="excess loss").iterrows():
            facts.append((str(name), f"{number(after)}, fitted model {number(before)}"))
        n_people = len(self.audit.inputs.index)
        if self.audit.inputs.model.classes:
            count = len(self.changed)
            text = f"{count:,} of {n_people:,} people ({percent(count / n_people)})"
            facts.append(("another label", text))
        else:
            moves = (self.changed["chosen"] - self.changed["fitted"]).abs()
            facts.append(("predictions", f"move by {number(float(moves.median()))} in the median"))
        return facts


@dataclass(frozen=True, eq=False, repr=False)
class TreeChoice(Choice):
    """A good tree that was chosen by a preference among all counted ones: not private."""

    theta: Node

    @cached_property
    def model(self) -> Any:
        """Fitted classifier of the table."""
        return tree_estimator(self.audit.answers.counted, self.theta)

    @property
    def excess(self) -> float:
        """Loss of the chosen tree above the least one, in the unit of ψ."""
        return float(self._excesses[1])

    @property
    def _excesses(self) -> Any:
        counted = self.audit.answers.counted
        losses = [counted.loss(count_leaves(tree), counted.errors(tree)) for tree in self._trees]
        return np.array(losses) - counted.least

    @property
    def _trees(self) -> tuple[Node, Node]:
        return self.audit.answers.counted.best(), self.theta

    @property
    def _sizes(self) -> dict[str, Any]:
        features = question_features(self.audit.answers.counted).values()
        asked = [tree_columns(tree) for tree in self._trees]
        used = [sum(bool(columns & set(each)) for each in features) for columns in asked]
        return {"features": used, "leaves": [count_leaves(tree) for tree in self._trees]}

    @property
    def coefficients(self) -> pd.DataFrame:
        """Questions of the best and the chosen tree, line by line."""
        texts = self.audit.answers.counted.as_set(self._trees)
        lines = [pd.Series(texts.text(index).splitlines()) for index in range(2)]
        return pd.concat(lines, axis=1, keys=["fitted", "chosen"]).fillna("")


PREFERENCES: dict[str, Callable[[Any, Region, Limits], Narrowed]] = {
    "sparse": preferences.sparse,
    "monotone": preferences.monotone,
    "fair": preferences.fair,
    "near": preferences.near,
    "card": preferences.card,
    "robust": labels.robust,
}
"""Preferences by name."""
_OVER_FEATURES = (preferences.sparse, preferences.fair)  # that search all sets of as few features
_GAP_KINDS, _NEAR_KINDS = ("scores", "rates", "opportunity"), ("coefficients", "labels")
_MULTIPLES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8)


def price(
    audit: Any, prefer: str | Sequence[str], limits: Limits, psis: Sequence[float] | None
) -> pd.DataFrame:
    """Value of the last preference, and what it costs, at several thresholds ψ."""
    psis = [audit.psi * each for each in _MULTIPLES] if psis is None else psis
    return price_table({psi: choice_at(audit, float(psi), prefer, limits) for psi in psis}, prefer)


def choice_at(audit: Any, psi: float, prefer: str | Sequence[str], limits: Limits) -> Choice | None:
    """Choice at another threshold; None if no good model meets the limits."""
    try:
        return choose(audit.at(psi), prefer, limits)
    except MissingAnswerError:
        return None


def price_table(
    choices: Mapping[float, Choice | None], prefer: str | Sequence[str]
) -> pd.DataFrame:
    """Price curve of choices by ψ."""
    rows, score, unit = {}, "accuracy", ""
    for psi, choice in choices.items():
        if choice is None:
            rows[psi] = [np.nan, np.nan, False, np.nan, np.nan, np.nan]
            continue
        last, changed = choice.preferred[-1], np.nan
        unit = last.unit
        if choice.audit.task == "classification":
            changed = len(choice.changed) / len(choice.audit.inputs.index)
        else:
            score = "R²"
        quality = float(choice.costs["chosen"][score])
        rows[psi] = [last.value, last.bound, last.optimal, choice.excess, quality, changed]
    names = ["value", "bound", "optimal", "excess", score, "changed"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=names).rename_axis("psi")
    table.attrs.update(
        unit=unit, name=prefer if isinstance(prefer, str) else ", then ".join(prefer)
    )
    return marked(table.sort_index().astype({"optimal": bool}), "exact")


def choose(audit: Any, prefer: str | Sequence[str], limits: Limits) -> Choice:
    """Choose a model of an exact audit, or a counted tree, by preferences in order."""
    is_counted = isinstance(audit.answers, CountedAnswers)
    if audit.kind != "exact" and not is_counted:
        raise MissingAnswerError(
            "a choice needs the whole set of good models, and this audit has a sample of refits: "
            f"audit a linear model with a convex objective, or counted trees ({audit.reason})"
        )
    for name, value, kinds in (("gap", limits.gap, _GAP_KINDS), ("to", limits.to, _NEAR_KINDS)):
        if value not in kinds:
            raise ValueError(f"{name} must be one of {', '.join(kinds)}, got {value!r}")
    check_count(points=limits.points)
    names = [prefer] if isinstance(prefer, str) else list(prefer)
    unknown = [name for name in names if name not in PREFERENCES]
    if unknown or not names or len(set(names)) < len(names):
        raise ValueError(
            f"prefer must name one of {', '.join(PREFERENCES)}, or several in order, got {prefer!r}"
        )
    if is_counted:
        tree, values = choose_tree(audit, names, limits)
        return TreeChoice(audit, tree, tuple(values), _code(prefer, limits))
    region, values = preferences.limited(audit, limits), []
    on_labels = {"fair": limits.gap != "scores", "near": limits.to == "labels"}
    for name in names:
        if region.only is not None:
            raise ValueError(f"{values[-1].name!r} leaves one model: name it last in prefer")
        preference = (labels.BY_LABELS if on_labels.get(name) else PREFERENCES)[name]
        region, preferred = preference(audit, region, limits)
        if region.support is not None and preference not in _OVER_FEATURES:
            preferred = replace(preferred, among=" with these features")
        values.append(preferred)
    theta = region.best.theta
    return Choice(audit, theta, tuple(values), _code(prefer, limits))


def _code(prefer: Any, limits: Limits) -> str:
    default = Limits()
    changed = {
        name: value for name, value in vars(limits).items() if value is not getattr(default, name)
    }
    texts = [
        f"{name}={value!r}" if name != "near" else "near=model"
        for name, value in changed.items()
        if value != getattr(default, name) or name == "near"
    ]
    return f"found.choose({', '.join([repr(prefer), *texts])})"
