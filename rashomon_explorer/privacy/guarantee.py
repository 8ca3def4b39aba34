"""Privacy guarantees: notion, numbers, theorem and assumptions."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from textwrap import fill
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.formatting import Fact, ReprMixin, rounded_up
from rashomon_explorer._utils.imports import missing_package
from rashomon_explorer.privacy import conversions
from rashomon_explorer.privacy.tradeoff import curves

ONE_BY_ONE = "each row was prepared by itself, from declared settings only"
"""Assumption of guarantees on rows, whose origin cannot be verified."""

ALSO_BY = f"{ONE_BY_ONE}, also by"
"""Beginning of that assumption where earlier steps of a pipeline may learn from rows."""

ROUNDING = 1e-9  # relative to a budget: a plan that spends all of it must not fail by an ulp

ADJACENCY = "replace one record; the number of rows and all bounds are public"
_WIDTH = 88  # of a printed guarantee
_SEEDED = "drawn with a known seed: reproducible, not private"


@dataclass(frozen=True, repr=False)
class Guarantee(ReprMixin):
    """Privacy guarantee of one mechanism, or of several composed, for one record.

    Several notions may hold at once; ``epsilon`` and ``delta`` use the best one. Adjacency is
    replace-one: n, p, the bounds and all settings are public.

    Parameters
    ----------
    notion : str
        The notion in which the guarantee was proved: ``"pure"``, ``"bounded_range"``,
        ``"repeated_bounded_range"``, ``"zcdp"``, ``"gdp"``, ``"rdp"``, ``"tradeoff"``,
        ``"approximate"``, ``"composition"`` or ``"none"``.
    theorem : str
        Source of the proof. A wheel has pages named docs/… in ``rashomon_explorer/_assets/docs``.
    pure_epsilon : float, default=inf
        ε of pure ε-DP, if it holds.
    rho : float, default=inf
        ρ of zero-concentrated DP, if it holds.
    mu : float, default=inf
        μ of Gaussian DP, if it holds.
    approximate_epsilon, approximate_delta : float, default=0.0
        (ε, δ) parts, which are added to the rest. The three numbers above then describe only the
        rest (0 if there is none), not the whole guarantee.
    assumptions : tuple of str
        Conditions under which the guarantee holds.
    seeded : bool, default=False
        Whether the noise came from a seed that its user knows. Such a run is reproducible. It is
        private only towards those who cannot know the seed.
    curve : TradeOff, optional
        Trade-off function for replace-one neighbours, if it proves more than the numbers above.
        :func:`adaptive_epsilon`, and so a ledger, counts its Rényi divergence at the one order that
        was fixed in advance; without an order it counts neither curve nor orders.
    orders : tuple of (float, float), default=()
        Increasing orders a > 1 and the D_a of Rényi DP in both directions, if it is known only at
        these orders; see :func:`~rashomon_explorer.privacy.rdp`.
    requested : tuple of (float, float), optional
        The requested (ε, δ), which texts show first. It claims nothing by itself, is ignored when
        guarantees are compared for equality, and is dropped by composition.

    Raises
    ------
    ValueError
        If a number is negative or NaN, ``approximate_delta`` is above 1, or ``curve`` is for
        neighbours other than replace-one.

    Examples
    --------
    >>> from rashomon_explorer.privacy import bounded_range, compose
    >>> one = bounded_range(eta=0.5)
    >>> one.epsilon(0.0)
    0.5
    >>> many = compose([one] * 20)
    >>> many.epsilon(0.0), round(many.epsilon(1e-6), 3)
    (10.0, 5.927)
    """

    notion: str
    theorem: str
    pure_epsilon: float = math.inf
    rho: float = math.inf
    mu: float = math.inf
    approximate_epsilon: float = 0.0
    approximate_delta: float = 0.0
    assumptions: tuple[str, ...] = (ADJACENCY,)
    seeded: bool = False
    curve: curves.TradeOff | None = None
    orders: tuple[tuple[float, float], ...] = ()
    requested: tuple[float, float] | None = field(default=None, compare=False)
    relation: ClassVar[str] = curves.REPLACE

    def __post_init__(self) -> None:
        """Reject negative numbers, which would refund budget, and NaN, which passes comparisons."""
        for name in ("pure_epsilon", "rho", "mu", "approximate_epsilon", "approximate_delta"):
            object.__setattr__(self, name, validation.plain_number(getattr(self, name)))
        if self.requested is not None:
            requested = tuple(map(validation.plain_number, self.requested))
            object.__setattr__(self, "requested", requested)
        validation.check_nonnegative_or_infinite(
            pure_epsilon=self.pure_epsilon,
            rho=self.rho,
            mu=self.mu,
            approximate_epsilon=self.approximate_epsilon,
        )
        validation.check_share(approximate_delta=self.approximate_delta)
        if self.curve is not None and self.curve.relation != self.relation:
            raise ValueError(
                f"curve must be for neighbours by {self.relation!r} (one record replaced), got "
                f"one for {self.curve.relation!r}, which claims less loss than a replacement "
                "causes: compute the curve with relation='replace'"
            )
        if not self.orders:
            return
        orders = [order for order, _ in self.orders]
        conversions.check_curve(orders, [divergence for _, divergence in self.orders])
        if orders != sorted(set(orders)):
            raise ValueError(f"orders must increase, got {orders!r}")

    @property
    def holds(self) -> bool:
        """Whether any privacy is guaranteed."""
        numbers = (self.pure_epsilon, self.rho, self.mu, *(d for _, d in self.orders))
        has_bound = self.curve is not None or any(map(math.isfinite, numbers))
        return has_bound and math.isfinite(self.approximate_epsilon) and self.approximate_delta < 1

    def epsilon(self, delta: float) -> float:
        """Least proved ε such that (ε, δ)-DP holds at δ in [0, 1); infinity if no notion holds."""
        validation.check_delta(delta)
        rest = delta - self.approximate_delta
        if rest < 0:
            return math.inf
        bounds = [
            self.pure_epsilon,
            conversions.zcdp_epsilon(self.rho, rest),
            conversions.gdp_epsilon(self.mu, rest),
        ]
        if self.curve is not None:
            bounds.append(self.curve.epsilon(rest))
        if self.orders:
            bounds.append(conversions.renyi_epsilon(*self._orders, rest))
        return self.approximate_epsilon + min(bounds)

    def delta(self, epsilon: float) -> float:
        """Least proved δ such that (ε, δ)-DP holds at ε ≥ 0; 1 if no notion holds."""
        validation.check_nonnegative_or_infinite(epsilon=epsilon)
        rest = epsilon - self.approximate_epsilon
        if rest < 0:
            return 1.0
        if rest >= self.pure_epsilon:
            return self.approximate_delta
        bounds = [conversions.zcdp_delta(self.rho, rest), conversions.gdp_delta(self.mu, rest)]
        if self.curve is not None:
            bounds.append(float(self.curve.delta(rest)))
        if self.orders:
            bounds.append(conversions.renyi_delta(*self._orders, rest))
        return min(1.0, self.approximate_delta + min(bounds))

    def tradeoff(self, alpha: ArrayLike) -> NDArray[np.float64]:
        """Lower bound on the type II error of any test between neighbours at type I error α.

        The largest bound that pure DP, Gaussian DP or ``curve`` proves. With (ε, δ) parts, or if
        neither Gaussian DP nor a curve is known, also the envelope of (ε, δ) pairs (Dong, Roth and
        Su 2022, Proposition 2.12). The result has the shape of ``alpha``, and is 0 if nothing is
        guaranteed.
        """
        levels = curves.type_one_errors(alpha)
        if not self.holds:
            return np.zeros_like(levels)[()]
        parts: list[curves.TradeOff] = [self.curve] if self.curve is not None else []
        if math.isfinite(self.mu):
            parts.append(curves.Gaussian(self.mu))
        approximate = bool(self.approximate_epsilon or self.approximate_delta)
        # If zCDP also holds, as for many composed draws, a pure ε by itself is a weak bound.
        bounds = [curves.envelope(levels, *self._pairs)] if approximate or not parts else []
        if math.isfinite(self.pure_epsilon):
            parts.append(curves.Approximate(self.pure_epsilon))
        if not approximate:
            bounds += [curve(levels) for curve in parts]
        return np.asarray(np.max(bounds, axis=0))[()]

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Pairs (ε, δ) on a grid, cached for repeated calls by the page."""
        epsilon = np.linspace(0.0, 50.0, 2001)
        return epsilon, np.array([self.delta(e) for e in epsilon])

    def renyi(self, order: float) -> float:
        """Bound on the Rényi divergence D_a between neighbours, a > 1, in both directions.

        The least bound that pure DP, bounded range, zCDP (implied by Gaussian DP), ``curve`` and
        ``orders`` prove. Between two known orders, and down to 1, (a − 1) D_a is below its chord,
        because it is convex and 0 at a = 1 (van Erven and Harremoës 2014). Infinity if nothing is
        guaranteed, or if there is an additive δ.
        """
        return divergence(self, order).value

    @cached_property
    def _orders(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        table = np.reshape(np.array(self.orders), (-1, 2))
        return table[:, 0], table[:, 1]

    def with_seed(self) -> Guarantee:
        """Return a copy that is marked as drawn with a known seed."""
        return replace(self, seeded=True)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; infinities become the string ``"inf"``."""
        values = {
            key: "inf" if value == math.inf else list(value) if isinstance(value, tuple) else value
            for key, value in asdict(replace(self, curve=None)).items()
        }
        # Omitted if absent, so that the format of guarantees without them does not change.
        del values["curve"], values["orders"], values["requested"]
        if self.curve is not None:
            values["curve"] = self.curve.to_dict()
        if self.orders:
            values["orders"] = [list(pair) for pair in self.orders]
        if self.requested is not None:
            values["asked"] = list(self.requested)  # the key of files written by earlier versions
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Guarantee:
        """Inverse of :meth:`to_dict`."""
        fields: dict[str, Any] = {k: math.inf if v == "inf" else v for k, v in values.items()}
        if fields.get("curve") is not None:
            fields["curve"] = curves.from_dict(fields["curve"])
        fields["orders"] = tuple((order, bound) for order, bound in fields.get("orders", ()))
        requested = fields.pop("asked", None)
        if requested is not None:
            fields["requested"] = tuple(requested)
        return cls(**{**fields, "assumptions": tuple(fields["assumptions"])})

    def to_dp_event(self) -> Any:
        """Return an event for the accountants of ``dp_accounting``, with their default relation.

        The event is a Gaussian mechanism if Gaussian DP is proved, and otherwise zCDP, which pure
        DP implies: for one draw that is a weaker bound than its ε. The numbers of a guarantee hold
        for a replaced record, so the accountant must not double them: keep its default,
        ``ADD_OR_REMOVE_ONE``.

        Raises
        ------
        ValueError
            If neither notion is proved, or an (ε, δ) part is.

        Examples
        --------
        >>> from rashomon_explorer.privacy import zcdp
        >>> zcdp(0.25).to_dp_event()
        ZCDpEvent(rho=0.25, xi=0.0)
        """
        try:
            from dp_accounting import dp_event
        except ImportError as error:
            raise missing_package("An event", "dp_accounting", "accounting") from error
        proved = min(self.mu, self.rho)
        if math.isinf(proved) or self.approximate_epsilon or self.approximate_delta:
            raise ValueError(
                f"an event needs Gaussian DP, zCDP or pure DP, got {guarantee_text(self)}: use "
                "epsilon(delta)"
            )
        if not proved:
            return dp_event.NoOpDpEvent()
        if math.isfinite(self.mu):
            return dp_event.GaussianDpEvent(math.nextafter(1 / self.mu, 0))
        return dp_event.ZCDpEvent(self.rho)

    def privacy_profile(self) -> Any:
        """Return δ(ε) as a privacy profile of OpenDP, which needs its features enabled.

        Examples
        --------
        >>> import opendp.prelude as dp
        >>> from rashomon_explorer.privacy import gdp
        >>> dp.enable_features("contrib", "honest-but-curious")
        >>> round(gdp(0.7).privacy_profile().epsilon(1e-6), 4)
        3.2706
        """
        try:
            from opendp.measures import new_privacy_profile
        except ImportError as error:
            raise missing_package("A privacy profile", "opendp", "secure") from error
        return new_privacy_profile(self.delta)

    def __str__(self) -> str:
        if not self.holds:
            return f"no guarantee: {self.theorem}"
        seed = f"; {_SEEDED}" if self.seeded else ""
        requested, proved = requested_text(self), guarantee_text(self)
        text = f"{requested} ({_proof_text(self, proved)})" if requested else proved
        if condition := condition_text(self):
            text = f"{condition}: {text}"
        text = f"{text}, {self.theorem} ({'; '.join(self.assumptions)}){seed}"
        return fill(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)

    def _title(self) -> str:
        if not self.holds:
            return "No guarantee"
        condition = condition_text(self)
        start = f"Guarantee, {condition}" if condition else "Guarantee"
        return f"{start}: {summary_text(self)}"

    def _facts(self) -> list[Fact]:
        if not self.holds:
            return [("why", self.theorem)]
        proved = guarantee_text(self)
        if requested_text(self):
            proved = _proof_text(self, proved)
        facts = [("proved", proved), ("by", self.theorem)]
        facts += [("if" if k == 0 else "", text) for k, text in enumerate(self.assumptions)]
        return facts + [("but", _SEEDED)] * self.seeded


class Divergence(NamedTuple):
    """D_a at one order a."""

    value: float
    sublinear: bool = True  # the bound on D_a divided by a decreases in a


def divergence(guarantee: Guarantee, order: float) -> Divergence:
    """Least bound on D_a, in both directions, that the guarantee proves (docs/theory.md §4)."""
    if not 1 < order < math.inf:
        raise ValueError(f"order must be > 1 and finite, got {order!r}")
    if guarantee.approximate_delta > 0:
        return Divergence(math.inf)
    sublinear = [order * guarantee.rho, conversions.pure_renyi(guarantee.pure_epsilon, order)]
    general = [math.inf]
    curve = guarantee.curve
    draws = bounded_range_draws(guarantee)
    if draws is not None:
        eta, count = draws
        sublinear.append(count * conversions.bounded_range_renyi(eta, order))
    if curve is not None:
        (sublinear if curve.sublinear else general).append(curve.renyi(order))
    if guarantee.orders and order <= guarantee.orders[-1][0]:
        orders, divergences = np.array(guarantee.orders).T
        chords = np.interp(order, [1.0, *orders], [0.0, *((orders - 1) * divergences)])
        general.append(float(chords) / (order - 1))
    added = guarantee.approximate_epsilon
    if min(sublinear) <= min(general):
        return Divergence(added + min(sublinear))
    return Divergence(added + min(general), sublinear=False)


def gaussian_mu(guarantee: Guarantee) -> float:
    """Least μ of Gaussian DP that the guarantee, pure DP or bounded range proves."""
    bounds = [guarantee.mu, conversions.pure_mu(guarantee.pure_epsilon)]
    draws = bounded_range_draws(guarantee)
    if draws is not None:
        bounds.append(math.sqrt(draws[1]) * conversions.bounded_range_mu(draws[0]))
    return min(bounds)


def bounded_range_draws(guarantee: Guarantee) -> tuple[float, int] | None:
    """Return η and the number of draws of a guarantee of bounded range, or None."""
    if guarantee.notion == "bounded_range" and math.isfinite(guarantee.pure_epsilon):
        return guarantee.pure_epsilon, 1
    curve = guarantee.curve
    if guarantee.notion == "repeated_bounded_range" and isinstance(
        curve, curves.RepeatedBoundedRange
    ):
        return curve.eta, curve.count
    return None


def summary_text(guarantee: Guarantee) -> str:
    """Text of the requested (ε, δ) if it is guaranteed, otherwise of the guaranteed notions."""
    return requested_text(guarantee) or guarantee_text(guarantee)


def condition_text(guarantee: Guarantee) -> str:
    """Text of the condition that earlier steps of a pipeline must meet; empty if there is none."""
    conditional = any(line.startswith(ALSO_BY) for line in guarantee.assumptions)
    return "only if the pipeline's earlier steps do not learn from rows" if conditional else ""


def guarantee_text(guarantee: Guarantee) -> str:
    """Text of the guaranteed notions, with numbers rounded up."""
    notions = _notions_text(guarantee)
    if guarantee.curve is None:
        return notions
    return f"{notions} with a sharper trade-off" if notions else guarantee.curve.notion


def _proof_text(guarantee: Guarantee, proved: str) -> str:
    """Return what proves the requested ε; of weak notions beside a curve, theirs alone."""
    notions, (epsilon, delta) = _notions_text(guarantee), guarantee.requested or (0.0, 0.0)
    if guarantee.curve is None or not notions:
        return proved
    alone = replace(guarantee, curve=None).epsilon(delta)
    if alone <= epsilon * (1 + ROUNDING):
        return proved
    return f"by a trade-off curve; {notions} alone: ε = {rounded_up(alone)}"


def requested_text(guarantee: Guarantee) -> str:
    """Text of the requested (ε, δ) if it is guaranteed; empty otherwise."""
    if guarantee.requested is None:
        return ""
    epsilon, delta = guarantee.requested
    proved = guarantee.epsilon(delta) <= epsilon * (1 + ROUNDING)
    return epsilon_delta_text(epsilon, delta) if proved else ""


def epsilon_delta_text(epsilon: float, delta: float) -> str:
    """Text of ε, rounded up, and of δ if it is positive, without zeros before its exponent."""
    mantissa, e, power = rounded_up(delta).partition("e")
    at = f" at δ = {mantissa}e{int(power)}" if e else f" at δ = {mantissa}"
    return f"ε = {rounded_up(epsilon)}" + (at if delta > 0 else "")


def _notions_text(guarantee: Guarantee) -> str:
    pure = guarantee.pure_epsilon
    texts = [f"{rounded_up(guarantee.rho)}-zCDP"] if math.isfinite(guarantee.rho) else []
    if orders := len(guarantee.orders):
        texts.append(f"Rényi DP at {orders} order{'s' * (orders > 1)}")
    if not (guarantee.approximate_epsilon or guarantee.approximate_delta):
        if math.isfinite(guarantee.mu):  # it implies its zCDP, and is stronger
            texts = [f"{rounded_up(guarantee.mu)}-GDP"]
        return " and ".join([f"{rounded_up(pure)}-DP"] * math.isfinite(pure) + texts)
    delta = rounded_up(guarantee.approximate_delta)
    if math.isfinite(pure):
        return f"({rounded_up(guarantee.approximate_epsilon + pure)}, {delta})-DP"
    return f"({rounded_up(guarantee.approximate_epsilon)}, {delta})-DP with {' and '.join(texts)}"


_ATTACK_GRID = np.linspace(0.0, 25.0, 251)


def best_attack(guarantee: Guarantee, false_alarms: float) -> float:
    """Bound on the share of members that any attacker detects at a false positive rate.

    The attacker knows the mechanism, its output and all records but one. The attacker tests which
    of two given individuals the last record belongs to. At type I error α no test has a power
    above 1 − f(α), where f is the trade-off function of the guarantee (Wasserman and Zhou 2010;
    Dong, Roth and Su 2022, Definition 2.3). For pure ε-DP: min{e^ε α, 1 − e^(−ε)(1 − α)}.

    Parameters
    ----------
    guarantee : Guarantee
    false_alarms : float
        α in [0, 1]: share of non-members that are classified as members.

    Examples
    --------
    >>> from rashomon_explorer.privacy import gdp, pure
    >>> round(best_attack(pure(1.0), 0.05), 4), round(best_attack(gdp(1.0), 0.05), 4)
    (0.1359, 0.2595)
    """
    validation.check_share(false_alarms=false_alarms)
    if not guarantee.holds:
        return 1.0
    proved = [float(np.asarray(guarantee.tradeoff(false_alarms)))]
    # If several notions hold, the (ε, δ) pairs use the best of them at every ε.
    deltas = np.array([guarantee.delta(float(epsilon)) for epsilon in _ATTACK_GRID])
    proved.append(float(curves.envelope(false_alarms, _ATTACK_GRID, deltas)))
    if guarantee.notion == "bounded_range" and not guarantee.approximate_epsilon:
        if not guarantee.approximate_delta:
            proved.append(float(curves.BoundedRange(guarantee.pure_epsilon)(false_alarms)))
    return 1.0 - max(proved)
