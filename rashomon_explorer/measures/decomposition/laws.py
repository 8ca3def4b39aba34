"""What is known of the law of a set's draws: all that a split of them may rest on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rashomon_explorer.rashomon_set import CuratorSet, PredictorSet, RashomonSet
from rashomon_explorer.rashomon_set.models import DecisionTrees
from rashomon_explorer.samplers import traits_of

TREES = "trees"


@dataclass(frozen=True)
class Law:
    """The law of draws.

    Parameters
    ----------
    name : str
        Of the sampler, or what the models are.
    independent : bool
        Whether they are independent draws of one law.
    uniform_on : str
        Models of which those inside the Rashomon set are equally likely; "" where that is not so.
    stays_inside : bool
        Whether no draw lies outside.
    least_hit_rate : float
        Proved before the rows were read; 0 if nothing is.
    n_chains : int
        Chains that they came from; 0 where each is by itself.
    remedy : str
        What to do where draws inside do not tell the set's own width.
    """

    name: str
    independent: bool = False
    uniform_on: str = ""
    stays_inside: bool = False
    least_hit_rate: float = 0.0
    n_chains: int = 0
    remedy: str = "pass reference=, models uniform on the same set, or raise epsilon or psi"
    why: str = "draws of this sampler are not proved to be uniform inside"


def law_of(models: object) -> Law:
    """Law of a set's draws; of anything else nothing is known.

    >>> law_of("models").independent
    False
    """
    for kind, tell in _LAWS.items():
        if isinstance(models, kind):
            return tell(models)
    return Law(getattr(models, "sampler", type(models).__name__))


def _linear(models: RashomonSet) -> Law:
    known = traits_of(models.sampler)
    return Law(
        name=models.sampler,
        independent=known.independent,
        uniform_on=known.uniform_on,
        stays_inside=known.stays_inside,
        least_hit_rate=models.plan.hit_rate_bound if known.planned_law else 0.0,
        n_chains=known.n_chains,
        remedy=_remedy(models),
    )


def _remedy(models: RashomonSet) -> str:
    """Say which reference is of the set of the draws: one of the same ball and ridge."""
    return (
        f"pass reference=, draws with sampler='hit_and_run', radius={models.plan.radius!r} and "
        f"ridge={models.plan.ridge!r} of the same rows, row_norm and psi, draw with "
        "sampler='exact', or raise epsilon or psi"
    )


def _others(models: PredictorSet) -> Law:
    if not isinstance(models.models, DecisionTrees) or not models.independent:
        return Law(models.models.kind)
    if models.uniform:
        return Law("uniform trees", True, TREES, stays_inside=True, least_hit_rate=1.0)
    planned: Any = models.planned
    if planned is None:
        return Law("trees of an unknown law", True, why=_UNKNOWN, remedy=_REFERENCE)
    # At or below its threshold the law is flat; beyond it a better tree is likelier.
    flat = models.psi <= planned.law_psi
    why = (
        f"drawn trees are equally likely up to s = {planned.law_psi:.4g} above the least loss, and "
        f"the set goes to ψ = {models.psi:.4g}"
    )
    return Law(
        name="private trees",
        independent=True,
        uniform_on=TREES if flat else "",
        least_hit_rate=planned.hit_rate(models.psi),
        why=why,
        remedy=f"{_REFERENCE}; or ask about the trees up to s, models.rethreshold("
        f"{planned.law_psi!r})",
    )


_UNKNOWN = "nothing says which law these trees were drawn from"
_REFERENCE = (
    "pass reference=, all trees of the same rows and class, "
    "RashomonTreeClassifier(...).counted(X, y), or uniform draws of them, counted.draw(2000, psi)"
)
_LAWS: dict[type[CuratorSet], Callable[[Any], Law]] = {
    RashomonSet: _linear,
    PredictorSet: _others,
}
