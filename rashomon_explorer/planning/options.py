"""The ways to spend one budget, side by side, and the front of those that none beats."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rashomon_explorer.losses import Loss
from rashomon_explorer.planning.mechanisms import MECHANISMS
from rashomon_explorer.planning.offers import Offer, Request
from rashomon_explorer.planning.planned import Plan
from rashomon_explorer.planning.public_law import PublicLaw
from rashomon_explorer.planning.warn_weak import said_elsewhere, warn_of_large_delta
from rashomon_explorer.validation import check_count, check_delta

if TYPE_CHECKING:
    from pandas import DataFrame

_BUDGETS = (0.5, 1.0, 2.0, 4.0, 8.0)
_DRAWS = (1, 5, 20, 100)


_Bought = tuple[Request, Offer]


def plan_options(
    n: int,
    p: int,
    psi: float,
    *,
    loss: str | Loss = "logistic",
    radius: float,
    row_norm: float,
    ridge: float = 0.0,
    epsilon: float,
    delta: float = 0.0,
    n_draws: int = 1,
    ledger: bool = False,
) -> tuple[Offer, ...]:
    """Every way to spend a budget on draws, the best first; reads no row.

    Those whose hits are uniform on the set come before those whose are not, then counts the
    guaranteed hit rate, then the expected excess; ways that do not apply are last, with why.

    Parameters
    ----------
    n, p, psi, loss, radius, row_norm, ridge, epsilon, delta, n_draws, ledger
        As in :func:`rashomon_explorer.planning.plan`.

    Returns
    -------
    tuple of Offer
        One of each of ``MECHANISMS``.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> rows = {"n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5, "ridge": 0.1}
    >>> for one in plan_options(**rows, epsilon=4.0, delta=1e-6, n_draws=20)[:3]:
    ...     print(one.name, one.uniform, round(one.hit_rate, 3))
    exact_best True 0.873
    exact True 0.67
    unthresholded False 1.0
    """
    request = Request(n, p, psi, loss, radius, row_norm, ridge, epsilon, delta, n_draws, ledger)
    check_count(n_draws=n_draws)
    check_delta(delta)
    warn_of_large_delta(delta, n)
    return tuple(sorted(_offers(request), key=_rank))


def options_of(planned: Plan) -> tuple[Offer, ...]:
    """Every way to spend the budget of a plan, the best first; reads no row.

    Parameters
    ----------
    planned : Plan
        The one among them that it is has ``offer.plan == planned``.

    Returns
    -------
    tuple of Offer
        As :func:`plan_options` gives them; empty where a plan does not say what it was made from.

    Examples
    --------
    >>> from rashomon_explorer.planning import plan
    >>> bought = plan(50_000, 11, 0.02, radius=4.0, row_norm=1.5, epsilon=1.0)
    >>> [offer.name for offer in options_of(bought) if offer.applies]
    ['exact', 'unthresholded', 'objective_perturbation', 'regularised']
    """
    law = PublicLaw.of(planned)
    if law is None:
        return ()
    names = ("psi", "epsilon", "delta", "n_draws", "ledger")
    asked = {**vars(law), **{name: getattr(planned, name) for name in names}}
    return tuple(sorted(_offers(Request(**asked)), key=_rank))


def pareto_table(
    n: int,
    p: int,
    psi: float,
    *,
    loss: str | Loss = "logistic",
    radius: float,
    row_norm: float,
    ridge: float = 0.0,
    delta: float = 0.0,
    epsilons: Sequence[float] = _BUDGETS,
    n_draws: Sequence[int] = _DRAWS,
) -> "DataFrame":
    """Price, draws and guaranteed hit rate of every option, and which none beats; reads no row.

    Parameters
    ----------
    n, p, psi, loss, radius, row_norm, ridge, delta
        As in :func:`rashomon_explorer.planning.plan`.
    epsilons : sequence of float
        Budgets to try.
    n_draws : sequence of int
        Numbers of draws to try.

    Returns
    -------
    pandas.DataFrame
        A row for each budget, number of draws and option that applies: ``epsilon``, ``delta``,
        ``n_draws``, ``option``, ``uniform``, ``beta``, ``hit_rate``, ``hits`` (the expected
        number, from below), ``excess``, ``n_steps``, ``time`` and ``front``: whether no other row
        costs as little, has as many draws, as large a guaranteed hit rate and, if this one's hits
        are uniform on the set, uniform hits too, and is better in one of them.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> table = pareto_table(50_000, 11, 0.02, radius=4.0, row_norm=1.5, epsilons=[1, 4])
    >>> table[table.front & table.uniform & (table.n_draws == 1)][["epsilon", "hit_rate"]].round(3)
        epsilon  hit_rate
    0         1     0.870
    16        4     0.967
    """
    from pandas import DataFrame

    bought: list[_Bought] = []
    for epsilon in epsilons:
        for count in n_draws:
            check_count(n_draws=count)
            request = Request(n, p, psi, loss, radius, row_norm, ridge, epsilon, delta, count)
            bought += [(request, offer) for offer in _offers(request) if offer.applies]
    qualities = [_qualities(one) for one in bought]
    front = [not any(_beats(other, own) for other in qualities) for own in qualities]
    rows = [_row(*one) for one in bought]
    return DataFrame([{**row, "front": first} for row, first in zip(rows, front, strict=True)])


def _offers(request: Request) -> list[Offer]:
    # The bounds are checked by the first, which every budget allows.
    with said_elsewhere():  # a table of hit rates needs no warning of each
        return [mechanism.offer(request) for mechanism in MECHANISMS.values()]


def _rank(offer: Offer) -> tuple[bool, bool, float, float]:
    useful = offer.hit_rate > 0
    return (not offer.applies, not (offer.uniform and useful), -offer.hit_rate, offer.excess)


def _row(request: Request, offer: Offer) -> dict[str, object]:
    return {
        "epsilon": request.epsilon,
        "delta": request.delta,
        "n_draws": request.n_draws,
        "option": offer.name,
        "uniform": offer.uniform,
        "beta": offer.beta,
        "hit_rate": offer.hit_rate,
        "hits": request.n_draws * offer.hit_rate,
        "excess": offer.excess,
        "n_steps": offer.n_steps,
        "time": offer.time,
    }


def _qualities(bought: _Bought) -> tuple[float, ...]:
    """Numbers of which more is better."""
    request, offer = bought
    return (-request.epsilon, request.n_draws, offer.hit_rate, offer.uniform)


def _beats(other: tuple[float, ...], own: tuple[float, ...]) -> bool:
    """Whether it is at least as good in everything, and better in something."""
    return other != own and all(theirs >= ours for theirs, ours in zip(other, own, strict=True))
