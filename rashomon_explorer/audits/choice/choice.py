"""A model chosen from the exact set of an audit, with what is proved of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from rashomon_explorer.audits.group_rates import accepted_code, group_names, pair_name
from rashomon_explorer.audits.models import fitted_steps
from rashomon_explorer.exceptions import MissingAnswerError


@dataclass(frozen=True, eq=False, repr=False)
class Choice(ReprMixin):
    """A good model that was chosen by a preference, with its certificate: not private.

    Made by :meth:`rashomon_explorer.audits.Audit.choose`.

    Parameters
    ----------
    audit : Audit
        Audit from whose good models it was chosen.
    theta : ndarray of shape (p,)
        Parameters in the problem of the audit.
    preferred : tuple of Preferred
        Value and proved bound of each preference, in order.
    code : str
        Line of Python that repeats the choice.
    """

    audit: Any = field(repr=False)
    theta: FloatArray
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
        problem = self.audit.problem
        return float(problem.value(self.theta[:, None])[0]) - float(problem.minimum.value)

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
        audited, problem = self.audit.inputs.model, self.audit.problem
        models = np.stack([audited.theta, self.theta], axis=1)
        rows = {"excess loss": problem.value(models) - problem.minimum.value}
        score, measure = ("accuracy", accuracy_score) if audited.classes else ("R²", r2_score)
        rows[score] = [
            measure(audited.targets, values, sample_weight=audited.row_weights)
            for values in self._predictions
        ]
        uses = np.tile(preferences.table_features(self.audit)[1], problem.loss.outputs)
        rows["features"] = [int(uses[:, theta != 0].any(axis=1).sum()) for theta in models.T]
        if self.audit.inputs.groups is not None:
            rows |= self._gaps(models)
        table = pd.DataFrame.from_dict(rows, orient="index", columns=["fitted", "chosen"])
        return marked(table.rename_axis("measure"), "exact")

    def _gaps(self, models: FloatArray) -> dict[str, Any]:
        groups, audited = self.audit.inputs.groups, self.audit.inputs.model
        names = group_names(groups)
        pairs = [pair_name(groups.name, *pair) for pair in combinations(names, 2)]
        gaps: dict[str, Any] = {}
        if self.audit.problem.loss.outputs == 1:
            values = preferences.gap_normals(self.audit) @ models
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
    measure = "accuracy" if audit.task == "classification" else "R²"
    rows, unit = [], ""
    for psi in [audit.psi * each for each in _MULTIPLES] if psis is None else psis:
        try:
            choice = choose(audit.at(float(psi)), prefer, limits)
        except MissingAnswerError:
            rows.append((psi, np.nan, np.nan, False, np.nan, np.nan, np.nan))
        else:
            last, changed = choice.preferred[-1], np.nan
            unit = last.unit
            if audit.task == "classification":
                changed = len(choice.changed) / len(audit.inputs.index)
            score = float(choice.costs["chosen"][measure])
            rows.append((psi, last.value, last.bound, last.optimal, choice.excess, score, changed))
    names = ["psi", "value", "bound", "optimal", "excess", measure, "changed"]
    table = pd.DataFrame(rows, columns=names).set_index("psi")
    table.attrs.update(unit=unit)
    return marked(table.astype({"optimal": bool}), "exact")


def choose(audit: Any, prefer: str | Sequence[str], limits: Limits) -> Choice:
    """Choose a model of an exact audit by preferences in order, within limits."""
    if audit.kind != "exact":
        raise MissingAnswerError(
            "a choice needs the whole set of good models, and this audit has a sample of refits: "
            f"audit a linear model with a convex objective ({audit.reason})"
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
    region = preferences.limited(audit, limits)
    values: list[Preferred] = []
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
