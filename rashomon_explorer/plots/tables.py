"""Tables of the values that the figures show."""

import math
from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import Mask
from rashomon_explorer._utils.formatting import rounded_down, rounded_up
from rashomon_explorer.measures import coefficient_spread
from rashomon_explorer.measures.inputs import Features
from rashomon_explorer.mechanisms.planning.offers import Offer
from rashomon_explorer.mechanisms.planning.options import plan_candidates
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.trees import TreePlan
from rashomon_explorer.mechanisms.planning.weakness import has_hit_rate
from rashomon_explorer.plots.budget import cost_curve
from rashomon_explorer.plots.guarantees import excess_law
from rashomon_explorer.plots.importance import MOST_ROWS, importance_ranges, importances
from rashomon_explorer.plots.people import Multiplicity, members, multiplicity
from rashomon_explorer.plots.prices import DRAWS, guarantee_curves
from rashomon_explorer.plots.text import at_least, cost_text, counted, need_as_drawn, need_inside
from rashomon_explorer.privacy import LedgerEntry
from rashomon_explorer.privacy.composition import running_epsilon
from rashomon_explorer.sets import RashomonSet, ReleasedSet

_ROUNDED: dict[str, Callable[[float], float]] = {
    "up": lambda value: float(rounded_up(value)),
    "down": lambda value: float(rounded_down(value)),
}


def rounded_bounds(frame: pd.DataFrame) -> pd.DataFrame:
    """Round the bounds of a table to four digits, so that they stay true."""
    shown = frame.copy()
    for name, side in frame.attrs.get("rounding", {}).items():
        if name == frame.index.name:
            shown.index = pd.Index(frame.index.map(_ROUNDED[side]), name=name)
        else:
            # By position, because the labels of the index may have changed.
            shown[name] = frame[name].map(_ROUNDED[side]).to_numpy()
    return shown


def losses_table(models: RashomonSet) -> pd.DataFrame:
    """Tabulate the loss of every draw."""
    return pd.DataFrame(
        {
            "loss": models.losses,
            "excess": models.excess,
            "within ψ": models.losses <= models.minimum.value + models.psi,
        },
        index=pd.RangeIndex(models.n_draws, name="draw"),
    )


def coefficients_table(models: RashomonSet | ReleasedSet) -> pd.DataFrame:
    """Tabulate the coefficients of every draw."""
    index = pd.RangeIndex(models.n_draws, name="draw")
    return pd.DataFrame(models.coef, columns=list(models.parameter_names), index=index)


def spread_table(models: RashomonSet | ReleasedSet) -> pd.DataFrame:
    """Tabulate the spread of every coefficient."""
    if isinstance(models, ReleasedSet):
        return coefficient_spread(models)
    return coefficient_spread(need_inside(counted(models), models))


def importance_table(
    models: RashomonSet,
    X: ArrayLike,
    y: ArrayLike,
    *,
    features: Features = None,
    max_rows: int = MOST_ROWS,
) -> pd.DataFrame:
    """Tabulate the spread of the permutation importance of every feature."""
    inside = need_inside(counted(models), models)
    values, _ = importances(inside, X, y, features=features, max_rows=max_rows)
    return importance_ranges(values)


def people_table(
    models: RashomonSet, X: ArrayLike, groups: ArrayLike | None = None
) -> pd.DataFrame:
    """Tabulate the widths of prediction ranges by group."""
    found = multiplicity(models, X)
    split = members(found, groups)
    rows = [_of_group(found, chosen) for _, chosen in split]
    return pd.DataFrame(rows, index=pd.Index([name for name, _ in split], name="group"))


def _of_group(found: Multiplicity, chosen: Mask) -> dict[str, float]:
    width = found.width[chosen]
    row = {
        "people": int(chosen.sum()),
        "median width": float(np.median(width)),
        "95 % width": float(np.quantile(width, 0.95)),
    }
    if found.ambiguous.size:
        row["ambiguity"] = float(found.ambiguous[chosen].mean())
    return row


def excess_table(given: Plan | RashomonSet) -> pd.DataFrame:
    """Tabulate excess losses and the guaranteed share of draws with at most each of them."""
    need_as_drawn(given, "excess_table")
    models = given if isinstance(given, RashomonSet) and given.n_draws else None
    planned = given.plan if isinstance(given, RashomonSet) else given
    promise = excess_law(planned)
    places = np.unique([*np.linspace(0, 4 * promise.mean, 13), planned.psi])
    shares = {"guaranteed, at least": promise.cdf(places)}
    if models is not None:
        shares["draws"] = (models.excess[:, None] <= places).mean(axis=0)
    frame = pd.DataFrame(shares, index=pd.Index(places, name="excess loss at most"))
    frame.attrs["rounding"] = {"excess loss at most": "up", "guaranteed, at least": "down"}
    return frame


def plan_table(planned: Plan) -> pd.DataFrame:
    """Tabulate privacy costs and their guaranteed hit rates."""
    prices, rates = cost_curve(planned, n_points=13)
    index = pd.Index(prices, name="ε")
    frame = pd.DataFrame({"guaranteed hit rate": rates}, index=index)
    frame.attrs["rounding"] = {"ε": "up", "guaranteed hit rate": "down"}
    return frame


def costs_table(planned: Plan | TreePlan, draws: Sequence[int] = DRAWS) -> pd.DataFrame:
    """Tabulate the guarantee for every privacy cost and number of draws."""
    table = guarantee_curves(planned, draws).sort_values(["n_draws", "epsilon"])
    hits = has_hit_rate(planned)
    name = "guaranteed hit rate" if hits else "excess loss at most"
    frame = table.rename(columns={"n_draws": "draws", "epsilon": "ε", "promise": name})
    frame = frame.set_index("draws")
    frame.attrs["rounding"] = {"ε": "up", name: "down" if hits else "up"}
    return frame


def options_table(planned: Plan) -> pd.DataFrame:
    """Tabulate the candidate mechanisms for a plan's budget, the best first; empty if unknown."""
    rows = [
        {
            "way": offer.name.replace("_", " ") + ", this plan" * (offer.plan == planned),
            "a draw is": offer.draws,
            "within ψ": _guaranteed(offer),
            "those within": "uniform on the set" if offer.uniform else "crowd near the best model",
            "price": cost_text(offer.guarantee.epsilon(planned.delta)) if offer.guarantee else "–",
            "why, or why not": offer.why,
        }
        for offer in plan_candidates(planned)
    ]
    return pd.DataFrame(rows, columns=_WAYS).set_index("way")


_WAYS = ["way", "a draw is", "within ψ", "those within", "price", "why, or why not"]


def _guaranteed(offer: Offer) -> str:
    if not offer.applies:
        return "not applicable"
    # A rate may round to 1 in doubles, although no law here reaches it.
    told = at_least(min(offer.hit_rate, math.nextafter(1.0, 0.0)))
    return "no guarantee" if told == at_least(0.0) else told


def charges_table(
    charges: Sequence[LedgerEntry], delta: float, *, order: float | None = None
) -> pd.DataFrame:
    """Tabulate the charges of a ledger and the total after each, at the ledger's ``order``."""
    counted = [entry for entry in charges if entry.counts]
    totals = running_epsilon(
        [entry.guarantee for entry in counted],
        delta,
        order=order,
        told=[entry.divergence for entry in counted],
    )
    places = accumulate(int(entry.counts) for entry in charges)
    frame = pd.DataFrame(
        {
            "when": [entry.day for entry in charges],
            "who": [entry.who for entry in charges],
            "what": [entry.note for entry in charges],
            "state": [entry.standing for entry in charges],
            "ε in total": [totals[place] for place in places],
        },
        index=pd.Index([entry.id for entry in charges], name="charge"),
    )
    frame.attrs["rounding"] = {"ε in total": "up"}
    return frame
