"""What is true of a sampler's draws, so that whoever uses them can ask."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Traits:
    """What is true of the draws of a sampler; by default nothing is.

    Parameters
    ----------
    independent : bool, default=False
        Draws of one run are independent, in their order.
    n_chains : int, default=0
        Chains of which draws are states, one of each in turn, where the sampler's own number of
        them runs; 0 where no two draws are states of one chain.
    planned_law : bool, default=False
        Each draw has exactly the law that a plan's bounds and certificates are of.
    unplanned : str, default=""
        Where it has another: whose draws a plan's bounds are of, and what these are.
    uniform_on : {"", "ball", "grid"}, default=""
        Models of which those inside the Rashomon set are taken to be equally likely; "" where
        nothing is said of them.
    stays_inside : bool, default=False
        No draw lies outside the Rashomon set.
    may_give_up : bool, default=False
        Draws may not come, however long one waits.
    mechanism : str, default=""
        Key in :data:`rashomon_explorer.planning.MECHANISMS` of the plan that it carries out.
    weighed : bool, default=False
        ``sampler="auto"`` weighs it against the others.
    curator_only : bool, default=False
        It reads the rows without noise, so that nothing is charged and nothing may be released.

    Examples
    --------
    >>> from rashomon_explorer.samplers import traits_of
    >>> traits_of("exact").independent, traits_of("made elsewhere") == Traits()
    (True, True)
    """

    independent: bool = False
    n_chains: int = 0
    planned_law: bool = False
    unplanned: str = ""
    uniform_on: str = ""
    stays_inside: bool = False
    may_give_up: bool = False
    mechanism: str = ""
    weighed: bool = False
    curator_only: bool = False

    @property
    def dependence_known(self) -> bool:
        """Whether one can say which draws depend on each other."""
        return self.independent or self.n_chains > 0
