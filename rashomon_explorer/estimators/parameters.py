"""What is declared before a fit: the parameters, the plan and the constants that follow."""

import os
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from rashomon_explorer.constants import Constants, row_bound
from rashomon_explorer.domains import Ball
from rashomon_explorer.estimators.choosing import chosen, named
from rashomon_explorer.estimators.declared_budget import (
    DELTA,
    EPSILON,
    N_DRAWS,
    check_budget,
)
from rashomon_explorer.estimators.ledger_rule import rule_of
from rashomon_explorer.estimators.paying import PaysForRows
from rashomon_explorer.estimators.standardizing import (
    PRIVATE,
    beside_columns,
    columns_wanted,
)
from rashomon_explorer.losses import Loss, get_loss
from rashomon_explorer.planning import Plan
from rashomon_explorer.planning.columns import ColumnsPlan
from rashomon_explorer.planning.rule import AUTO, MOST_DRAWS
from rashomon_explorer.planning.warn_weak import warn_if_weak, warn_of_large_delta
from rashomon_explorer.privacy import Ledger
from rashomon_explorer.samplers import SAMPLERS, traits_of
from rashomon_explorer.samplers.exact import USUAL_PATIENCE
from rashomon_explorer.schema import TableSchema
from rashomon_explorer.shapes import accepts_table
from rashomon_explorer.sklearn_compat import Interval, StrOptions

USUAL_NORM = 1.0
"""Bound of ‖x‖ unless another is declared."""

ENCODED_NORM = 2.0
"""Norm of a typical row that a schema encodes: the constant, of length 1, then costs little."""

_PLANNED_FOR = ("psi", "radius", "ridge", "n_draws")


class RashomonParameters(PaysForRows):
    """The parameters that both estimators have, and what they buy before a row is read."""

    _loss: ClassVar[str]

    # Draws are rounded to multiples of 2⁻²⁰: in a smaller ball, or under more ridge, they would be
    # nothing but that rounding.
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "psi": [Interval(Real, 0, None, closed="left")],
        "epsilon": [EPSILON],
        "delta": [DELTA],
        "n_draws": [N_DRAWS, StrOptions({AUTO})],
        "sampler": [StrOptions({AUTO, *SAMPLERS})],
        "radius": [Interval(Real, 2.0**-20, None, closed="left"), StrOptions({AUTO})],
        "row_norm": [Interval(Real, 0, None, closed="neither"), StrOptions({AUTO})],
        "ridge": [Interval(Real, 0, 2.0**20, closed="both"), StrOptions({AUTO})],
        "standardize": [StrOptions({AUTO, PRIVATE}), None],
        "patience": [Interval(Integral, 1, None, closed="left"), StrOptions({AUTO}), None],
        "schema": [TableSchema, str, os.PathLike, None],
        "ledger": [str, os.PathLike, Ledger, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        psi: float,
        epsilon: float,
        delta: float,
        n_draws: int | str,
        sampler: str,
        radius: float | str,
        row_norm: float | str,
        ridge: float | str,
        standardize: str | None,
        patience: int | str | None,
        schema: TableSchema | str | os.PathLike[str] | None,
        ledger: str | os.PathLike[str] | Ledger | None,
        random_state: int | np.random.RandomState | None,
    ) -> None:
        self.psi = psi
        self.epsilon = epsilon
        self.delta = delta
        self.n_draws = n_draws
        self.sampler = sampler
        self.radius = radius
        self.row_norm = row_norm
        self.ridge = ridge
        self.standardize = standardize
        self.patience = patience
        self.schema = schema
        self.ledger = ledger
        self.random_state = random_state

    @accepts_table
    def plan(self, n_samples: int, n_features: int | None = None) -> Plan:
        """Plan what the budget buys on so many rows; reads none and costs nothing.

        Parameters
        ----------
        n_samples, n_features : int
            Public shape of the table, or in their place the table, which is not read. A schema
            knows how many columns it becomes.

        Returns
        -------
        Plan
            Temperature, price of a draw, guaranteed hit rate and excess bound.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        """
        return self._planned(n_samples, self._n_encoded(n_features), get_loss(self._loss))

    @accepts_table
    def constants(self, n_samples: int, n_features: int | None = None) -> Constants:
        """Public constants of the problem that so many rows pose; reads none.

        Parameters
        ----------
        n_samples, n_features : int
            Shape of the table, as for :meth:`plan`.

        Returns
        -------
        Constants
            What the theorems in :mod:`rashomon_explorer.planning.bounds` ask for: L, M, m and osc.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        """
        return self._constants(n_samples, self._n_encoded(n_features), get_loss(self._loss))

    @property
    def _row_norm(self) -> float:
        """Declared bound of ‖x‖."""
        if not isinstance(self.row_norm, str):
            return self.row_norm
        return USUAL_NORM if self.schema is None else ENCODED_NORM

    @property
    def _patience(self) -> int | None:
        """Refused proposals in a row after which exact draws give up; None for never."""
        return USUAL_PATIENCE if isinstance(self.patience, str) else self.patience

    def _planned(self, n_samples: int, n_features: int, loss: Loss) -> Plan:
        planned = self._made(n_samples, n_features, loss)
        # The curator's uniform draws lie in the set, whatever the plan's law promises.
        if not traits_of(self.sampler).stays_inside:
            warn_if_weak(planned, "this plan")
            warn_of_large_delta(self.delta, n_samples)
        return planned

    def _made(self, n_samples: int, n_features: int, loss: Loss) -> Plan:
        """Plan the draws, beside private centres and spreads where they are wanted."""
        check_budget(self)
        planned = self._drawn_for(n_samples, n_features, loss, self.epsilon, self.delta)
        if n_features == 0 or self.standardize is None:
            return planned
        paid = ColumnsPlan(
            n_samples,
            n_features,
            self._row_norm,
            self.epsilon,
            self.delta,
            ledger=rule_of(self.ledger, self.delta),
        )
        if not columns_wanted(self.standardize, self.sampler, planned, paid):
            return planned
        shape = n_samples, n_features, loss
        # What is left for one model pays for no set either: none is looked for again.
        settled: dict[str, Any] = {"n_draws": 1} if self.standardize == AUTO else {}
        return beside_columns(paid, lambda *left: self._drawn_for(*shape, *left, **settled))

    def _drawn_for(
        self,
        n_samples: int,
        n_features: int,
        loss: Loss,
        epsilon: float,
        delta: float,
        **settled: Any,
    ) -> Plan:
        """Plan by the rule what is left open, and then the draws; warns of nothing."""
        asked: dict[str, Any] = {
            "n": n_samples,
            "p": (n_features + 1) * loss.outputs,
            "loss": loss,
            "row_norm": row_bound(self._row_norm, intercept=True),
            "ledger": rule_of(self.ledger, self.delta),
            "epsilon": epsilon,
            "delta": delta,
            **{name: getattr(self, name) for name in _PLANNED_FOR},
            **settled,
        }
        if self.sampler != AUTO:
            if traits_of(self.sampler).n_chains and self.n_draws == AUTO:
                asked["n_draws"] = MOST_DRAWS  # the curator's own look has no price
            return named(self.sampler, **asked)
        return chosen(**asked)

    def _carrier(self, planned: Plan) -> str:
        """Name of the sampler that carries a plan out."""
        return planned.sampler if self.sampler == AUTO else self.sampler

    def _constants(self, n_samples: int, n_features: int, loss: Loss) -> Constants:
        radius: Any = self.radius
        ridge: Any = self.ridge
        if AUTO in (radius, ridge):
            planned = self._made(n_samples, n_features, loss)
            radius, ridge = radius_of(planned), planned.ridge
        return Constants.of(
            loss,
            n=n_samples,
            p=(n_features + 1) * loss.outputs,
            domain=Ball(radius),
            row_bound=row_bound(self._row_norm, intercept=True),
            ridge=ridge,
        )


def radius_of(planned: Plan) -> float:
    """Radius of the ball that a plan of an estimator is for."""
    assert planned.radius is not None  # every mechanism says for which ball it planned
    return planned.radius
