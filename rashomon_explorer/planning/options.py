"""The ways to spend one budget, side by side, and the front of those that none beats."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.special import gammainc

from rashomon_explorer.constants import Constants
from rashomon_explorer.domains import Ball
from rashomon_explorer.losses import Loss, get_loss
from rashomon_explorer.planning.localisation import plan_perturbed
from rashomon_explorer.planning.path_planner import plan_path
from rashomon_explorer.planning.planner import plan
from rashomon_explorer.planning.warn_weak import said_elsewhere
from rashomon_explorer.privacy.guarantee import Guarantee, compose

if TYPE_CHECKING:
    from pandas import DataFrame

_BUDGETS = (0.5, 1.0, 2.0, 4.0, 8.0)
_DRAWS = (1, 5, 20, 100)


@dataclass(frozen=True)
class Request:
    """What is to be bought, in public numbers.

    Parameters
    ----------
    n, p, psi, loss, radius, row_norm, ridge, epsilon, delta, n_draws
        As in :func:`rashomon_explorer.planning.plan`.
    """

    n: int
    p: int
    psi: float
    loss: str | Loss
    radius: float
    row_norm: float
    ridge: float
    epsilon: float
    delta: float
    n_draws: int


@dataclass(frozen=True)
class Option:
    """One way to spend a budget.

    Parameters
    ----------
    name : str
        Key in the registry.
    draws : str
        What a draw is, in words.
    uniform : bool
        Whether the draws that hit the Rashomon set are uniform on it, as a sampler of the set
        has to be (Definition 1.4 of Ganesh et al. 2023). Others crowd near the best model and
        show less of the set than there is.
    applies : bool
    why : str
        Why it applies or does not.
    beta : float
        Inverse temperature.
    hit_rate : float
        A draw lies in the Rashomon set with at least this probability.
    excess : float
        Bound of its expected excess loss.
    steps : int
        Steps of a chain; 0 without chains.
    time : float
        Time h·N of a chain; 0 without chains.
    guarantee : Guarantee or None
        Of all draws.
    """

    name: str
    draws: str
    uniform: bool
    applies: bool
    why: str
    beta: float = 0.0
    hit_rate: float = 0.0
    excess: float = math.inf
    steps: int = 0
    time: float = 0.0
    guarantee: Guarantee | None = None


_Bought = tuple[Request, Option]


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
) -> tuple[Option, ...]:
    """Every way to spend a budget on draws, the best first; reads no row.

    Those whose hits are uniform on the set come before those whose are not, then counts the
    guaranteed hit rate, then the expected excess; ways that do not apply are last, with why.

    Parameters
    ----------
    n, p, psi, loss, radius, row_norm, ridge, epsilon, delta, n_draws
        As in :func:`rashomon_explorer.planning.plan`.

    Returns
    -------
    tuple of Option

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
    # The bounds are checked by the first plan, which every budget allows.
    request = Request(n, p, psi, loss, radius, row_norm, ridge, epsilon, delta, n_draws)
    with said_elsewhere():  # a table of hit rates needs no warning of each
        options = [option(request) for option in OPTIONS.values()]
    return tuple(sorted(options, key=_rank))


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
        number, from below), ``excess``, ``steps``, ``time`` and ``front``: whether no other row
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
    0        1     0.870
    8        4     0.967
    """
    from pandas import DataFrame

    bought: list[_Bought] = []
    for epsilon in epsilons:
        for count in n_draws:
            request = Request(n, p, psi, loss, radius, row_norm, ridge, epsilon, delta, count)
            with said_elsewhere():
                found = [option(request) for option in OPTIONS.values()]
            bought += [(request, option) for option in found if option.applies]
    qualities = [_qualities(one) for one in bought]
    front = [not any(_beats(other, own) for other in qualities) for own in qualities]
    rows = [_row(*one) for one in bought]
    return DataFrame([{**row, "front": first} for row, first in zip(rows, front, strict=True)])


def _exact(request: Request) -> Option:
    return _thresholded(request, "exact", "oscillation")


def _exact_best(request: Request) -> Option:
    found = _thresholded(request, "exact_best", "best")
    if found.why == "oscillation":
        why = "no certificate is better than bounded range: it takes more ridge, and delta > 0"
        return Option(found.name, found.draws, found.uniform, False, why)
    return found


def _thresholded(request: Request, name: str, certificate: str) -> Option:
    bought = plan(**vars(request), certificate=certificate)
    return Option(
        name,
        "an exact draw from the thresholded law",
        uniform=True,
        applies=True,
        why=bought.certificate,
        beta=bought.beta,
        hit_rate=bought.hit_rate_bound,
        excess=bought.excess_bound,
        guarantee=bought.guarantee,
    )


def _unthresholded(request: Request) -> Option:
    """β·excess is below a Gamma(p) variable (docs/theory.md §2), ψ or no ψ."""
    bought = plan(**{**vars(request), "psi": 0.0}, certificate="best")
    return Option(
        "unthresholded",
        "an exact draw at ψ = 0",
        uniform=False,
        applies=True,
        why=bought.certificate,
        beta=bought.beta,
        hit_rate=_within(request, bought.beta),
        excess=bought.excess_bound,
        guarantee=bought.guarantee,
    )


def _narrowed(request: Request) -> Option:
    name, draws = "narrowed", "an exact draw near a noisy minimiser"
    if not request.ridge > 0:
        return Option(name, draws, False, False, "needs ridge > 0")
    ball = Ball(request.radius)
    constants = Constants.of(
        request.loss,
        n=request.n,
        p=request.p,
        domain=ball,
        row_bound=request.row_norm,
        ridge=request.ridge,
    )
    one = plan_perturbed(constants, ball, epsilon=request.epsilon / request.n_draws)
    beta = one.stages[-1].beta
    # It may also lose sight of the minimiser, with probability one.failure.
    hit_rate = max(0.0, _within(request, beta) - one.failure)
    return Option(
        name,
        draws,
        uniform=False,
        applies=True,
        why="pure DP",
        beta=beta,
        hit_rate=hit_rate,
        excess=one.excess_bound,
        guarantee=compose([one.guarantee] * request.n_draws),
    )


def _path_average(request: Request) -> Option:
    """E excess bounds the chance of a miss by Markov's inequality."""
    name, draws = "path_average", "the time average of a Langevin chain at ψ = 0"
    if not request.delta > 0:
        return Option(name, draws, False, False, "needs delta > 0")
    if not math.isfinite(get_loss(request.loss).smoothness(request.row_norm)):
        return Option(name, draws, False, False, "the loss has kinks, and no largest stable step")
    bought = plan_path(**{**vars(request), "psi": 0.0})
    hit_rate = max(0.0, 1 - bought.excess_bound / request.psi) if request.psi else 0.0
    return Option(
        name,
        draws,
        uniform=False,
        applies=True,
        why="every state is paid for",
        beta=bought.beta,
        hit_rate=hit_rate,
        excess=bought.excess_bound,
        steps=bought.n_steps,
        time=bought.n_steps * bought.step_size,
        guarantee=bought.guarantee,
    )


OPTIONS: dict[str, Callable[[Request], Option]] = {
    "exact": _exact,
    "exact_best": _exact_best,
    "unthresholded": _unthresholded,
    "narrowed": _narrowed,
    "path_average": _path_average,
}


def _within(request: Request, beta: float) -> float:
    return float(gammainc(request.p, beta * request.psi))


def _rank(option: Option) -> tuple[bool, bool, float, float]:
    useful = option.hit_rate > 0
    return (not option.applies, not (option.uniform and useful), -option.hit_rate, option.excess)


def _row(request: Request, option: Option) -> dict[str, object]:
    return {
        "epsilon": request.epsilon,
        "delta": request.delta,
        "n_draws": request.n_draws,
        "option": option.name,
        "uniform": option.uniform,
        "beta": option.beta,
        "hit_rate": option.hit_rate,
        "hits": request.n_draws * option.hit_rate,
        "excess": option.excess,
        "steps": option.steps,
        "time": option.time,
    }


def _qualities(bought: _Bought) -> tuple[float, ...]:
    """Numbers of which more is better."""
    request, option = bought
    return (-request.epsilon, request.n_draws, option.hit_rate, option.uniform)


def _beats(other: tuple[float, ...], own: tuple[float, ...]) -> bool:
    """Whether it is at least as good in everything, and better in something."""
    return other != own and all(theirs >= ours for theirs, ours in zip(other, own, strict=True))
