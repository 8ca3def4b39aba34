"""Langevin chains with a ledger: charge for the last states only, or for the whole path."""

import os
from dataclasses import replace
from itertools import islice

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.randomness import is_seeded, noise_assumptions
from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Charge, Guarantee, Ledger
from rashomon_explorer.privacy.ledger.charge import run_with_constant_error


class MeteredLangevin:
    """Run of Langevin chains that returns only states for which the ledger was charged.

    At first only the last states are charged, and all others are hidden. A request for the trace
    before the last states are returned is charged the path's privacy cost, which covers both. After
    they are returned the trace remains hidden: a later request could depend on them, which no
    certificate covers.

    Parameters
    ----------
    sampler : LangevinSampler
        A sampler with ``shown="last"``.
    target : GibbsTarget
        A target with a certificate of the last state.
    rng : numpy.random.Generator
        From :func:`rashomon_explorer._utils.randomness.generator` without a seed. Other generators
        may be reproducible, and the guarantee then states that they were seeded.
    ledger : Ledger
        Ledger that is charged before the first step.
    note : str, default=""
        Description in the ledger.

    Attributes
    ----------
    guarantee : Guarantee
        Guarantee for all states that may be returned so far.

    Raises
    ------
    BudgetExceededError
        If the ledger does not allow the privacy cost; nothing was run or spent.
    FitError
        From every method, if a step fails; the privacy cost stays spent.
    LedgerError
        From every method, in a process that was forked after the charge.
    ValueError
        If the sampler accounts for paths already, or the last state has no certificate.

    Examples
    --------
    >>> import tempfile
    >>> from rashomon_explorer.problem.problem import Problem
    >>> from rashomon_explorer.mechanisms.target import GibbsTarget
    >>> problem = Problem([[0.5], [-0.5]] * 50, [1, -1] * 50, ridge=1.0)
    >>> target = GibbsTarget(problem, beta=1.0, psi=0.0)
    >>> sampler = LangevinSampler(step_size=0.5, n_steps=50, n_chains=1, shown="last")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.create(folder + "/chains.ledger", epsilon=9.0, delta=1e-6)
    ...     chains = MeteredLangevin(sampler, target, np.random.default_rng(0), ledger)
    ...     before = ledger.spent()
    ...     chains.trace().shape, chains.last().shape, ledger.spent() > before
    ((50, 2, 1), (2, 1), True)
    """

    def __init__(
        self,
        sampler: LangevinSampler,
        target: GibbsTarget,
        rng: np.random.Generator,
        ledger: Ledger,
        note: str = "",
    ) -> None:
        if sampler.shown != "last":
            raise ValueError(
                'shown must be "last": a sampler with shown="path" accounts for its trace already'
            )
        self._path = replace(sampler, shown="path")
        self._target = target
        self._ledger = ledger
        self._note = note or f"{sampler.n_chains} Langevin chains"
        self._seeded = is_seeded(rng)
        self.guarantee: Guarantee = self._stated(sampler.certificate(target))
        self._steps = self._path.states(target, rng)
        self._states: list[FloatArray] = []
        self._charges: list[Charge] = [
            ledger.reserve(self.guarantee, note=f"{self._note}: last states")
        ]
        self._charges[0].start()
        self._holder = os.getpid()

    def _refuse_copies(self) -> None:
        """Raise in a forked process: with other noise it would return an uncharged second draw."""
        if os.getpid() != self._holder:
            raise LedgerError(
                "these chains belong to the process that charged the ledger for them: output of a "
                "forked copy would be a second draw for one charge. Make new chains there"
            )

    def _stated(self, guarantee: Guarantee) -> Guarantee:
        """Certificate with its assumptions on the noise."""
        if self._seeded:
            return guarantee.with_seed()
        return replace(guarantee, assumptions=(*guarantee.assumptions, *noise_assumptions()))

    @property
    def n_steps_run(self) -> int:
        """Number of steps made so far; public."""
        return len(self._states)

    def advance(self, n_steps: int | None = None) -> None:
        """Make ``n_steps`` more steps, by default all remaining ones, and return nothing."""
        self._refuse_copies()
        run_with_constant_error(lambda: self._states.extend(islice(self._steps, n_steps)))

    def trace(self) -> FloatArray:
        """Charge the path and return every state (n_steps_run, p, n_chains), in order.

        If no step was made, it runs to the end first.

        Raises
        ------
        BudgetExceededError
            If the ledger does not allow the path's privacy cost; nothing is returned or charged,
            and the last states remain available.
        LedgerError
            If the last states were returned before the path was charged.
        """
        self._refuse_copies()
        if len(self._charges) == 1:
            path = self._stated(self._path.certificate(self._target))
            note = f"{self._note}: the trace too"
            self._charges.append(self._ledger.reserve(path, note=note, extends=self._charges[0]))
            self.guarantee = path
        self._charges[1].start()  # repeated at every call, in case an earlier write failed
        if not self._states:
            self.advance()
        return np.array(self._states)

    def last(self) -> FloatArray:
        """Run to the end and return the last state of each chain, (p, n_chains)."""
        self.advance()
        for charge in self._charges:
            charge.commit()
        return self._states[-1].copy()
