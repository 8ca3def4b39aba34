"""From a budget to a temperature, or from a wish to a budget, without reading a row."""

from dataclasses import dataclass, field, replace
from typing import Any

from rashomon_explorer.constants import Constants, check_nonnegative, check_positive
from rashomon_explorer.domains import Ball
from rashomon_explorer.hooks import carry_out
from rashomon_explorer.losses import Loss, get_loss, loss_of_zeros
from rashomon_explorer.planning.bounds.hit_rate import (
    beta_for_hit_rate,
    guaranteed_hit_rate,
    sharp_excess_bound,
)
from rashomon_explorer.planning.certificates.law import check_draws
from rashomon_explorer.planning.pricing import PriceList, affordable_eta, price
from rashomon_explorer.planning.weakness import has_hit_rate, warn_if_weak, weakness
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.label import price_of
from rashomon_explorer.rounding import hit_rate_text, rounded_up
from rashomon_explorer.shown import Fact, Shown
from rashomon_explorer.threshold import Threshold, get_threshold
from rashomon_explorer.validation import check_delta

__all__ = ["Plan", "affordable_eta", "plan"]


@dataclass(frozen=True, repr=False)
class Plan(Shown):
    """What a budget buys, known before the rows are touched.

    Parameters
    ----------
    n, p : int
        Rows and parameters (the intercept included).
    psi : float
        Rashomon threshold.
    loss : str
        Name of the loss.
    epsilon, delta : float
        Total price of all draws.
    n_draws : int
        Draws bought.
    eta : float
        Bounded range β·osc of one draw, and so its ε by itself; infinite for a path.
    beta : float
        Inverse temperature.
    oscillation : float
        The osc of L_D − L_D' that was priced.
    hit_rate_bound : float
        Probability that a draw lies in the Rashomon set is at least this.
    excess_bound : float
        Expected excess loss of a draw is at most this.
    guarantee : Guarantee
        All draws composed.
    certificate : str, default="oscillation"
        Name of the certificate that pays for the draws; one other than bounded range holds for
        exact draws from the continuous law only, not for those from a grid.
    ledger : bool, default=False
        Whether the price is what a ledger charges, whose rule holds for charges that follow from
        earlier results, or what this one batch of draws costs by itself.
    radius, row_norm : float, optional
        The ball of models and the bound of a whole row that were planned for; None where a plan
        was not made from them.
    ridge : float, default=0.0
        Strong convexity added.
    outputs : int, default=1
        Scores a row has.
    zero_loss : float, optional
        What the loss of the model of zeros is at most: a promise that is no better is none.
    """

    n: int
    p: int
    psi: float
    loss: str
    epsilon: float
    delta: float
    n_draws: int
    eta: float
    beta: float
    oscillation: float
    hit_rate_bound: float
    excess_bound: float
    guarantee: Guarantee
    certificate: str = field(default="oscillation", kw_only=True)
    ledger: bool = field(default=False, kw_only=True)
    radius: float | None = field(default=None, kw_only=True)
    row_norm: float | None = field(default=None, kw_only=True)
    ridge: float = field(default=0.0, kw_only=True)
    outputs: int = field(default=1, kw_only=True)
    zero_loss: float | None = field(default=None, kw_only=True)

    @property
    def threshold(self) -> Threshold:
        """Shape of the threshold that was planned for: the hard one, or none at ψ = 0."""
        return get_threshold("hard", self.psi)

    def at(self, eta: float) -> tuple[float, float]:
        """Total ε, and guaranteed hit rate, of as many draws of another bounded range.

        Parameters
        ----------
        eta : float
            Price of one draw.

        Returns
        -------
        epsilon, hit_rate : float

        Examples
        --------
        >>> bought = plan(50_000, 11, 0.02, radius=4.0, row_norm=1.5, epsilon=1.0)
        >>> epsilon, hit_rate = bought.at(2.0)
        >>> epsilon, round(hit_rate, 3)
        (2.0, 0.934)
        """
        total = price(eta, self.n_draws, ledger=self.ledger).epsilon(self.delta)
        return total, guaranteed_hit_rate(self.p, eta / self.oscillation, self.psi)

    def feasibility(self) -> Any:
        """Predict from simulated rows how long exact draws will take, or that they will not come.

        Returns
        -------
        Feasibility or None
            See :func:`rashomon_explorer.samplers.preflight.preflight`; None for a path, which
            always ends, and for a plan that does not say what it was made from.

        Examples
        --------
        >>> bought = plan(50_000, 11, 0.02, radius=4.0, row_norm=1.5, epsilon=1.0)
        >>> bought.feasibility().likely
        True
        """
        return carry_out("preflight", self)

    def _title(self) -> str:
        return f"{type(self).__name__}: {_draws(self)} on {self.n:,} rows, p = {self.p}"

    def _facts(self) -> list[Fact]:
        hits = f"≥ {hit_rate_text(self.hit_rate_bound)} within ψ = {self.psi:g}"
        facts = [
            ("hit rate", hits if has_hit_rate(self) else "none can be promised"),
            ("excess loss", f"≤ {rounded_up(self.excess_bound)} on average"),
            ("price", f"{price_of(self.epsilon, self.delta)}, by {_rule(self)}"),
            ("law", f"{self.loss} loss, β = {self.beta:,.0f}"),
        ]
        return facts + [("but", weakness(self))] * bool(weakness(self))


def plan(
    n: int,
    p: int,
    psi: float,
    *,
    loss: str | Loss = "logistic",
    radius: float,
    row_norm: float,
    ridge: float = 0.0,
    epsilon: float | None = None,
    delta: float = 0.0,
    n_draws: int | None = None,
    hit_rate: float | None = None,
    certificate: str = "oscillation",
    ledger: bool = False,
) -> Plan:
    """Plan exact draws from two of budget, number of draws and wanted hit rate; reads no row.

    For a budget ε and a number of draws, the temperature is the coldest that is paid for, which
    makes the guaranteed hit rate as large as it can be. For a wanted hit rate and a number of
    draws, ε is the least that pays for it. For a budget and a wanted hit rate, as many draws are
    planned as the budget pays for.

    Parameters
    ----------
    n, p : int
        Rows, and parameters with the intercept.
    psi : float
        Rashomon threshold, ≥ 0.
    loss : str or Loss, default="logistic"
    radius : float
        Radius of the ball of models.
    row_norm : float
        Bound on the norm of a whole row; with an intercept that is √(‖x‖² + 1), see
        :func:`rashomon_explorer.constants.row_bound`.
    ridge : float, default=0.0
        Strong convexity added; it reads no data, and changes no price by bounded range.
    epsilon : float, optional
        Budget of all draws together.
    delta : float, default=0.0
        δ of all draws together.
    n_draws : int, optional
        1 by default, unless ``epsilon`` and ``hit_rate`` settle it.
    hit_rate : float, optional
        Wanted probability, in (0, 1), that a draw lies in the Rashomon set.
    certificate : {"oscillation", "best"}, default="oscillation"
        Bounded range alone, which is pure DP and holds for every sampler that draws exactly, or
        the best of :func:`rashomon_explorer.planning.gibbs_certificates`, which needs a ridge and
        δ > 0 to be better.
    ledger : bool, default=False
        Whether the price is to be what a ledger charges. Its rule is zCDP's, which holds however
        the charges follow from earlier results; a batch of draws by itself costs less
        (:func:`rashomon_explorer.privacy.repeated_bounded_range`).

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        If a parameter is out of range, not two of the three are given, one draw with the wanted
        hit rate is past the budget, or a ledger is to take another certificate's (ε, δ).

    Warns
    -----
    WeakGuaranteeWarning
        If ``epsilon`` buys a guaranteed hit rate below .2, or, with ψ = 0, no better loss than
        that of the model of zeros; with what would buy more.

    Examples
    --------
    >>> rows = {"n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5}
    >>> bought = plan(**rows, epsilon=1.0)
    >>> round(bought.beta), round(bought.hit_rate_bound, 3)
    (4167, 0.87)
    >>> wanted = plan(**rows, hit_rate=0.9, n_draws=20, delta=1e-6)
    >>> wanted.n_draws, round(wanted.epsilon, 1), round(wanted.hit_rate_bound, 3)
    (20, 16.5, 0.9)
    >>> plan(**rows, hit_rate=0.8, epsilon=4.0, delta=1e-6).n_draws
    7
    """
    check_nonnegative("psi", psi)
    check_positive("radius", radius)
    check_positive("row_norm", row_norm)
    check_nonnegative("delta", delta)
    check_delta(delta)
    _check_certificate(certificate, ledger)
    constants = Constants.of(loss, n=n, p=p, domain=Ball(radius), row_bound=row_norm, ridge=ridge)
    prices = PriceList(constants, Ball(radius), psi, delta, ledger, certificate == "best")
    beta, draws = _settled(prices, epsilon, n_draws, hit_rate)
    name, guarantee = prices.guarantee(beta, draws)
    paid = guarantee.epsilon(delta) if epsilon is None else epsilon
    kind = get_loss(loss)
    planned = Plan(
        n=n,
        p=p,
        psi=psi,
        loss=kind.name,
        epsilon=paid,
        delta=delta,
        n_draws=draws,
        eta=beta * constants.priced_osc,
        beta=beta,
        oscillation=constants.priced_osc,
        hit_rate_bound=guaranteed_hit_rate(p, beta, psi),
        excess_bound=sharp_excess_bound(p, beta, psi),
        guarantee=replace(guarantee, asked=(paid, delta)),
        certificate=name,
        ledger=ledger,
        radius=float(radius),
        row_norm=float(row_norm),
        ridge=float(ridge),
        outputs=kind.outputs,
        zero_loss=loss_of_zeros(kind),
    )
    if hit_rate is None:  # whoever names a hit rate knows how small it is
        warn_if_weak(planned, "this plan")
    return planned


def _draws(planned: Plan) -> str:
    kind = "chain" if planned.certificate == "path" else "draw"
    return f"{planned.n_draws:,} {kind}{'' if planned.n_draws == 1 else 's'}"


def _rule(planned: Plan) -> str:
    return f"{planned.certificate}{', as a ledger adds it up' if planned.ledger else ''}"


def _settled(
    prices: PriceList, epsilon: float | None, n_draws: int | None, hit_rate: float | None
) -> tuple[float, int]:
    """β and the number of draws."""
    if n_draws is not None:
        check_draws(n_draws)
    if epsilon is not None:
        check_positive("epsilon", epsilon)
    if hit_rate is None:
        if epsilon is None:
            raise ValueError("give epsilon, or the hit_rate that is wanted, or both")
        return prices.coldest(epsilon, n_draws or 1), n_draws or 1
    beta = beta_for_hit_rate(prices.constants.p, prices.psi, hit_rate)
    if epsilon is None:
        return beta, n_draws or 1
    if n_draws is not None:
        raise ValueError(
            "epsilon, hit_rate and n_draws were all given, and two of them settle the third: "
            "leave one out"
        )
    return beta, _draws_within(prices, epsilon, beta, hit_rate)


def _draws_within(prices: PriceList, epsilon: float, beta: float, hit_rate: float) -> int:
    draws = prices.most_draws(epsilon, beta)
    if draws == 0:
        least = prices.guarantee(beta, 1)[1].epsilon(prices.delta)
        raise ValueError(
            f"one draw with a hit rate of at least {hit_rate:g} costs ε={rounded_up(least)}, more "
            f"than epsilon={rounded_up(epsilon)}: raise epsilon or psi, or ask for a smaller "
            "hit_rate"
        )
    return draws


def _check_certificate(certificate: str, ledger: bool) -> None:
    if certificate not in ("oscillation", "best"):
        raise ValueError(f"certificate must be 'oscillation' or 'best', got {certificate!r}")
    if ledger and certificate == "best":
        raise ValueError(
            "a ledger adds up charges by one rule, and other certificates' parts in δ do not suit "
            "the rule of bounded range: plan for a ledger with certificate='oscillation'"
        )
