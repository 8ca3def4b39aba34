"""A model chosen from the exact set of an audit, with what is proved of it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import FixedThresholdClassifier

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.formatting import ReprMixin, number, percent
from rashomon_explorer.audits.answers import NOT_PRIVATE, marked
from rashomon_explorer.audits.choice.region import Region
from rashomon_explorer.audits.choice.sparse import SupportSearch, WorkBudget
from rashomon_explorer.audits.models import fitted_steps
from rashomon_explorer.exceptions import MissingAnswerError

_CLOSE = 1e-6  # distance of a value and its bound that counts as none, relative
_MULTIPLES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8)


@dataclass(frozen=True)
class Preferred:
    """Value of what was preferred, and a proved bound of the best one among the models left."""

    name: str
    value: float
    bound: float
    unit: str

    @property
    def optimal(self) -> bool:
        """Whether the value is proved to be the best, up to rounding."""
        return self.value - self.bound <= _CLOSE * (1e-3 + abs(self.value))

    @property
    def text(self) -> str:
        """The value with its proof."""
        value = f"{number(self.value)} {self.unit}".strip()
        if self.optimal:
            return f"{value}: no good model has less"
        return f"{value}: no good model has less than {number(self.bound, rounding='down')}"


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

    Attributes
    ----------
    model : estimator
        Copy of the audited model with other coefficients: its ``predict`` takes the raw table.
    excess : float
        Loss above the least one, at most ψ.
    certificate : DataFrame
        Per preference: value, proved bound on the best value, and whether they meet.
    costs : DataFrame
        Loss, accuracy, features and gaps of the fitted and the chosen model.
    changed : DataFrame
        People whose label differs from that of the fitted model; of a regression everyone.
    coefficients : DataFrame
        Fitted and chosen coefficients in the units of the table.
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
        """Per preference: value, proved bound, whether they meet, and the unit."""
        rows = {
            each.name: (each.value, each.bound, each.optimal, each.unit) for each in self.preferred
        }
        columns = ["value", "bound", "optimal", "unit"]
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
        uses = np.tile(table_features(self.audit)[1], problem.loss.outputs)
        rows["features"] = [int(uses[:, theta != 0].any(axis=1).sum()) for theta in models.T]
        table = pd.DataFrame.from_dict(rows, orient="index", columns=["fitted", "chosen"])
        return marked(table.rename_axis("measure"), "exact")

    def _title(self) -> str:
        names = ", then ".join(each.name for each in self.preferred) or "least loss"
        return f"Chosen model: {names} · {NOT_PRIVATE}"

    def _facts(self) -> list[tuple[str, str]]:
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
        return [*facts, ("repeat", self.code)]


def table_features(audit: Any) -> tuple[list[str], Mask]:
    """Columns of the table, and whether each column of the problem's rows is computed from them."""
    columns, intercept = audit.inputs.model.columns, audit.problem.intercept
    names = list(dict.fromkeys(source for column in columns for source in column.sources))
    uses = [[name in column.sources for column in columns] + [False] * intercept for name in names]
    return names, np.array(uses, dtype=bool).reshape(len(names), -1)


def choose(audit: Any, prefer: str, seconds: float | None) -> Choice:
    """Choose a model of an exact audit: the one of fewest features, with the least loss."""
    if audit.kind != "exact":
        raise MissingAnswerError(
            "a choice needs the whole set of good models, and this audit has a sample of refits: "
            f"audit a linear model with a convex objective ({audit.reason})"
        )
    if prefer != "sparse":
        raise ValueError(f'prefer must be "sparse", got {prefer!r}')
    names, uses = table_features(audit)
    region = Region(audit.problem, audit.psi, np.ones(audit.problem.rows.shape[1], dtype=bool))
    search = SupportSearch(region, uses, WorkBudget(seconds))
    solution = search.fewest()
    n_used, unit = int((~solution.dropped).sum()), f"of {len(names)} features"
    preferred = Preferred(prefer, float(n_used), float(solution.fewest), unit)
    theta = region.using(search.columns_without(solution.dropped)).best.theta
    return Choice(audit, theta, (preferred,), f"found.choose({prefer!r})")


def price(audit: Any, prefer: str, psis: Sequence[float] | None) -> pd.DataFrame:
    """Value of a preference, and what it costs, at several thresholds ψ."""
    measure, rows = "accuracy" if audit.task == "classification" else "R²", []
    for psi in [audit.psi * each for each in _MULTIPLES] if psis is None else psis:
        choice = choose(audit.at(float(psi)), prefer, 10.0)
        (only,), score = choice.preferred, float(choice.costs["chosen"][measure])
        rows.append((psi, only.value, only.bound, only.optimal, choice.excess, score))
    names = ["psi", "value", "bound", "optimal", "excess", measure]
    table = pd.DataFrame(rows, columns=names).set_index("psi")
    table.attrs.update(unit=only.unit)
    return marked(table, "exact")
