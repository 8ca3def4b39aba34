"""Released aggregates, and their files."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import pandas as pd

from rashomon_explorer._utils.formatting import rounded_down, rounded_up
from rashomon_explorer._utils.validation import check_inner_share
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.privacy.guarantee import epsilon_delta_text, guarantee_text
from rashomon_explorer.release import statistic as numbers
from rashomon_explorer.sets.files import number, number_from_value


@dataclass(frozen=True)
class Answer:
    """Released values of one query."""

    query: str
    definition: str
    statistics: tuple[numbers.Statistic, ...]
    share: float
    noise: str

    @property
    def of_every_model(self) -> bool:
        """Whether it is about every model of the class or the best one, not about the draws."""
        return self.query.startswith("psi_") or self.of_population

    @property
    def of_population(self) -> bool:
        """Whether intervals hold the population's value: sampling error, too."""
        return self.query == "coefficients"


@dataclass(frozen=True)
class ReleasedAggregates:
    """Aggregates of private rows with noise, and their privacy cost.  All values are public.

    Parameters
    ----------
    answers : tuple of Answer
    guarantee : Guarantee
        Guarantee of all answers together; the models have a guarantee of their own.
    models : Guarantee
        Guarantee of the models.
    charge : int or None
        Number of the charge in the ledger; None without a ledger.
    n_rows, n_draws : int
        Numbers of rows and models.
    delta : float
        δ at which the privacy cost is reported.
    doubt : str, default=""
        Why, by public numbers, the draws may lie far outside the Rashomon set; empty if their
        plan guarantees enough.

    Examples
    --------
    >>> from rashomon_explorer.release import release
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> fitted = RashomonClassifier(n_draws=5, epsilon=80.0, random_state=0).fit(X, y)
    >>> models = fitted.rashomon_set_.release()
    >>> options = {"epsilon": 1.0, "ledger": None, "random_state": 0}
    >>> answers = release(models, X, y, queries=["mean_accuracy"], **options)
    >>> isinstance(answers, ReleasedAggregates), answers.n_rows, answers.charge
    (True, 200, None)
    """

    answers: tuple[Answer, ...]
    guarantee: Guarantee
    models: Guarantee
    charge: int | None
    n_rows: int
    n_draws: int
    delta: float
    doubt: str = ""

    @property
    def statistics(self) -> tuple[numbers.Statistic, ...]:
        """All released numbers."""
        return tuple(number for answer in self.answers for number in answer.statistics)

    def __iter__(self) -> Iterator[numbers.Statistic]:
        return iter(self.statistics)

    def __getitem__(self, name: str) -> numbers.Statistic:
        for statistic in self.statistics:
            if statistic.name == name:
                return statistic
        raise KeyError(f"no released number has the name {name!r}: {[s.name for s in self]}")

    @property
    def cost_text(self) -> str:
        """Privacy cost as text, rounded up."""
        epsilon = self.guarantee.epsilon(self.delta)
        if math.isinf(epsilon):
            return guarantee_text(self.guarantee)
        return epsilon_delta_text(epsilon, self.delta)

    def table(self, confidence: float = 0.95) -> pd.DataFrame:
        """Table of the numbers with their error bars.

        Parameters
        ----------
        confidence : float, default=0.95
            Confidence of ``low`` to ``high``, which contains the value **for these rows**; for
            coefficients that of the population.

        Returns
        -------
        pandas.DataFrame
            Index ``name``; columns ``query``, ``estimate``, ``low``, ``high``, ``standard_error``
            of the noise, ``rows_error`` (upper bound on the error from sampling other rows
            independently of the models; NaN if none is known), ``price_share`` of the query, and
            ``note``.
        """
        check_inner_share(confidence=confidence)
        rows = [
            _row(statistic, answer, confidence)
            for answer in self.answers
            for statistic in answer.statistics
        ]
        return pd.DataFrame(rows).set_index("name")

    def to_dict(self, confidence: float = 0.95) -> dict[str, Any]:
        """Return plain values for JSON; unknown values are None.

        Parameters
        ----------
        confidence : float, default=0.95
        """
        check_inner_share(confidence=confidence)
        return {
            "format": "rashomon-explorer release",
            "version": 1,
            "confidence": confidence,
            "n_rows": self.n_rows,
            "n_draws": self.n_draws,
            "charge": self.charge,
            "delta": self.delta,
            "doubt": self.doubt,
            "guarantee": self.guarantee.to_dict(),
            "models": self.models.to_dict(),
            "answers": [
                {
                    "query": answer.query,
                    "definition": answer.definition,
                    "noise": answer.noise,
                    "price_share": answer.share,
                    "values": [
                        # JSON has no NaN.
                        {
                            key: None if isinstance(x, float) and not math.isfinite(x) else x
                            for key, x in _row(s, answer, confidence).items()
                        }
                        for s in answer.statistics
                    ],
                }
                for answer in self.answers
            ],
        }

    def __str__(self) -> str:
        lines = [f"{self.n_rows:,} rows, {self.n_draws:,} draws; {self.cost_text}"]
        width = max(len(statistic.name) for statistic in self)
        for statistic in self:
            low, high = statistic.interval()
            lines.append(
                f"{statistic.name:<{width}}  {statistic.estimate:.4g} "
                f"[{rounded_down(low)}, {rounded_up(high)}]"
                + (f"  ({statistic.note})" if statistic.note else "")
            )
        lines.append("95 % intervals of the values for these rows, including the noise")
        if any(answer.of_population for answer in self.answers):
            lines.append("coefficients: of the values for the population, including sampling")
        lines += [f"the draws: {self.doubt}"] * bool(self.doubt)
        lines.append(str(self.guarantee))
        return "\n".join(lines)


def _row(statistic: numbers.Statistic, answer: Answer, confidence: float) -> dict[str, Any]:
    low, high = statistic.interval(confidence)
    return {
        "name": statistic.name,
        "query": answer.query,
        "estimate": statistic.estimate,
        "low": low,
        "high": high,
        "standard_error": statistic.standard_error,
        "rows_error": statistic.rows_error,
        "price_share": answer.share,
        "note": statistic.note,
    }


_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        ReleasedAggregates,
        Answer,
        numbers.Measured,
        numbers.RateStatistic,
        numbers.Gap,
        numbers.Coefficient,
        numbers.ReleasedThreshold,
        numbers.Noise,
    )
} | dict.fromkeys(("GaussianNoise", "LaplaceNoise"), numbers.Noise)  # in files of earlier versions
_KIND, _NUMBER, _GUARANTEE = "kind", "number", "guarantee"


def from_released_values(values: dict[str, Any]) -> ReleasedAggregates:
    """Create released aggregates from the output of `released_values`."""
    try:
        released = _restored(values)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError("these are not released aggregates") from error
    if not isinstance(released, ReleasedAggregates):
        raise DataError("these are not released aggregates")
    return released


def released_values(value: Any) -> Any:
    """Plain values of released aggregates, for a file; the guarantee covers all of them."""
    if isinstance(value, Guarantee):
        return {_KIND: _GUARANTEE, **value.to_dict()}
    if is_dataclass(value):
        parts = {field.name: released_values(getattr(value, field.name)) for field in fields(value)}
        return {_KIND: type(value).__name__, **parts}
    if isinstance(value, tuple | list):
        return list(map(released_values, value))
    if isinstance(value, float):
        written = number(value)
        return {_KIND: _NUMBER, "value": written} if isinstance(written, str) else written
    return value


def _restored(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_restored, value))
    if not isinstance(value, dict):
        return value
    kind, parts = value[_KIND], {name: part for name, part in value.items() if name != _KIND}
    if kind == _GUARANTEE:
        return Guarantee.from_dict(parts)
    if kind == _NUMBER:
        return number_from_value(parts["value"])
    return _KINDS[kind](**{name: _restored(part) for name, part in parts.items()})
