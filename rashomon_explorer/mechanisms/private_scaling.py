"""Privacy cost of private centres and spreads of the columns, and when they are used."""

import math
from dataclasses import dataclass, replace

from rashomon_explorer._utils.formatting import Fact
from rashomon_explorer.mechanisms.request import GDP, cost_at_order
from rashomon_explorer.privacy import approximate, compose, gdp, pure
from rashomon_explorer.privacy.conversions import gdp_epsilon, gdp_mu, zcdp_epsilon, zcdp_rho
from rashomon_explorer.privacy.guarantee import Guarantee, epsilon_delta_text

STATED = "models use columns mapped by released centres and spreads, whose privacy cost is included"

SHARE = 0.1
"""Share of the privacy cost, ε or μ², spent on centres and spreads."""

SHARE_BESIDE = 0.2
"""Share of ε spent on them, with half of δ, if the draws are (ε, δ)-DP."""

# Where they win on simulated tables (benchmarks/README.md): least nμ or nε, and largest d/(nμ) or
# d/(nε). A class needs less of both if nothing says where in the ball the rows lie.
_LEAST = {"gaussian": 300.0, "laplace": 1_000.0}
_NOISIEST = {"gaussian": 0.1, "laplace": 0.01}
_UNKNOWN = {"gaussian": (80.0, 0.4), "laplace": (350.0, 0.1)}
_LEAST_ROWS_OF_REGRESSION = 1_000
_MOST_TYPICAL = 0.5  # share of the columns that are numbers with a typical range
_LEAST_WIDE = 0.25  # share that are numbers without one, which classes need
_GAUSSIAN_WEIGHT = math.sqrt(0.5)
_LAPLACE_WEIGHT = 0.5
_SAFE = 1 - 1e-9  # the sum of both must not exceed the total by rounding
_UP = 1 + 1e-9  # covers the rounding of a mean over the rows


@dataclass(frozen=True)
class ColumnsPlan:
    """Privacy cost and noise of the columns' means and mean squares, in public numbers.

    With u = x/``row_norm`` the release is the mean over the rows of (a·u, u², b‖u‖²) plus noise of
    the same size in every entry; one record moves it by at most Δ/n (docs/theory.md §16).
    """

    n: int
    d: int
    row_norm: float
    epsilon: float
    delta: float
    ledger: bool | str = False
    pure: bool = False
    halved: bool = False

    @property
    def gaussian(self) -> bool:
        """Whether the noise is Gaussian; pure DP uses Laplace noise."""
        return self.delta > 0 and not self.pure

    @property
    def weight(self) -> float:
        """Factor a of the means, which need less precision than mean squares."""
        return _GAUSSIAN_WEIGHT if self.gaussian else _LAPLACE_WEIGHT / math.sqrt(self.d)

    @property
    def total_weight(self) -> float:
        """Factor b of the total of the mean squares: the largest one that is free."""
        return math.sqrt(1 + self.weight**2) if self.gaussian else 1.0

    @property
    def sensitivity(self) -> float:
        """Δ/n, in the L2 norm for Gaussian noise and in the L1 norm for Laplace noise."""
        if self.gaussian:
            return (2 + self.weight**2) / math.sqrt(2) / self.n * _UP
        k = self.weight * math.sqrt(self.d)
        c = (math.sqrt(k * k + 32) - k) / 8
        return 2 * math.sqrt(1 - c * c) * (k + 2 * c) / self.n * _UP

    @property
    def cost(self) -> float:
        """Privacy cost of the release: μ of Gaussian DP, or ε."""
        if self.gaussian and self.halved:
            return _SAFE * gdp_mu(SHARE_BESIDE * self.epsilon, self.delta / 2)
        if self.gaussian:
            return math.sqrt(SHARE) * self._budget
        return SHARE * self.epsilon

    @property
    def noise(self) -> float:
        """Standard deviation of an entry's Gaussian noise, or the scale of Laplace noise."""
        return self.sensitivity / self.cost

    @property
    def deviation(self) -> float:
        """Standard deviation of an entry's noise, of either kind."""
        return self.noise if self.gaussian else math.sqrt(2) * self.noise

    @property
    def left(self) -> float:
        """ε that is left for the draws, at ``left_delta``, composed by the same rule."""
        if self.gaussian and self.halved:
            return (1 - SHARE_BESIDE) * self.epsilon * _SAFE
        if not self.gaussian:
            return self.epsilon * _SAFE - self.cost
        mu = _SAFE * math.sqrt(1 - SHARE) * self._budget
        by_zcdp = self.ledger and self.ledger != GDP
        return zcdp_epsilon(mu**2 / 2, self.delta) if by_zcdp else gdp_epsilon(mu, self.delta)

    @property
    def order(self) -> float | None:
        """Rényi order at which the ledger composes; None if it has none."""
        found = cost_at_order(self.epsilon, self.delta, self.ledger)
        return None if found is None else found[0]

    @property
    def left_delta(self) -> float:
        """δ that is left for the draws: half of it if ``halved``, otherwise all."""
        return self.delta / 2 if self.halved else self.delta

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of centres and spreads without the draws."""
        if self.gaussian and self.halved:
            return approximate(SHARE_BESIDE * self.epsilon * _SAFE, self.delta / 2)
        return gdp(self.cost) if self.gaussian else pure(self.cost)

    def improves(self, *, regression: bool, shares: tuple[float, float] | None) -> bool:
        """Whether the rule uses them: enough budget for the noise, and columns that need them.

        ``shares`` are those of numbers with and without a declared typical range, None without a
        schema.
        """
        kind = "gaussian" if self.gaussian else "laplace"
        least, noisiest = _LEAST[kind], _NOISIEST[kind]
        if shares is None and not regression:
            least, noisiest = _UNKNOWN[kind]
        if regression and self.n < _LEAST_ROWS_OF_REGRESSION:
            return False
        typical, wide = (0.0, 1.0) if shares is None else shares
        if typical >= _MOST_TYPICAL or (not regression and wide < _LEAST_WIDE):
            return False
        budget = self.n * self._budget
        return budget >= least and self.d <= noisiest * budget

    @property
    def _budget(self) -> float:
        if not self.gaussian:
            return self.epsilon
        if self.ledger and self.ledger != GDP:
            return math.sqrt(2 * zcdp_rho(self.epsilon, self.delta))
        return gdp_mu(self.epsilon, self.delta)

    @property
    def fact(self) -> Fact:
        """Label and text of a plan's summary."""
        notion = "Gaussian DP" if self.gaussian else "pure DP"
        total = epsilon_delta_text(self.epsilon, self.delta)
        text = f"private centres and spreads, {notion} {self.cost:.3g}; total {total}"
        return "columns", text


def with_scaling_cost(planned: ColumnsPlan | None, drawn: Guarantee) -> Guarantee:
    """Guarantee of centres and spreads together with draws from rows mapped by them."""
    if planned is None or not drawn.holds:
        return drawn
    total = compose([planned.guarantee, drawn])
    stated = tuple(dict.fromkeys((*drawn.assumptions, *total.assumptions, STATED)))
    return replace(total, assumptions=stated, requested=(planned.epsilon, planned.delta))
