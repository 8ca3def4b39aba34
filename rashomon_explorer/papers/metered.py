"""Langevin chains under a ledger: their last states for less, their trace for the path's price."""

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
    """A run of chains that shows nothing but what the ledger was charged for.

    At first only the last states are charged, and all others are hidden. Who asks for the trace
    before the last states were shown is charged the path's price, which covers both, and pays
    nothing twice. After they were shown the trace stays hidden for good: whether it is bought
    could then depend on them, which no certificate covers.

    Parameters
    ----------
    sampler : LangevinSampler
        With ``shown="last"``.
    target : GibbsTarget
        With a certificate of the last state.
    rng : numpy.random.Generator
        From :func:`rashomon_explorer._utils.randomness.generator` without a seed. Any other may be
        reproduced by who made it, and the guarantee then says that it was seeded.
    ledger : Ledger
        Charged before the first step.
    note : str, default=""
        For people, in the ledger.

    Attributes
    ----------
    guarantee : Guarantee
        Of all that may be shown so far.

    Raises
    ------
    BudgetExceededError
        If the ledger does not allow the price; nothing was run or spent.
    FitError
        From every method, if a step fails; the price stays spent.
    LedgerError
        From every method, in a process that was forked after the charge.
    ValueError
        If the sampler pays for paths already, or the last state has no certificate.

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
        """Refuse a forked copy, whose noise is another: it would show a second draw unpaid."""
        if os.getpid() != self._holder:
            raise LedgerError(
                "these chains belong to the process that charged the ledger for them: output of a "
                "forked copy would be a second draw for one charge. Make new chains there"
            )

    def _stated(self, guarantee: Guarantee) -> Guarantee:
        """Certificate with what it assumes of the noise."""
        if self._seeded:
            return guarantee.with_seed()
        return replace(guarantee, assumptions=(*guarantee.assumptions, *noise_assumptions()))

    @property
    def n_steps_run(self) -> int:
        """Steps that were made so far, which is no secret."""
        return len(self._states)

    def advance(self, n_steps: int | None = None) -> None:
        """Make so many more steps, all that are left by default, and show nothing.

        Parameters
        ----------
        n_steps : int, optional
        """
        self._refuse_copies()
        run_with_constant_error(lambda: self._states.extend(islice(self._steps, n_steps)))

    def trace(self) -> FloatArray:
        """Show every state so far, after charging the path; runs to the end if nothing ran.

        Returns
        -------
        ndarray of shape (n_steps_run, p, n_chains)
            In the order of the steps.

        Raises
        ------
        BudgetExceededError
            If the ledger does not allow the path's price; nothing is shown or charged, and the
            last states may still be.
        LedgerError
            If the last states were shown before the path was paid for.
        """
        self._refuse_copies()
        if len(self._charges) == 1:
            path = self._stated(self._path.certificate(self._target))
            note = f"{self._note}: the trace too"
            self._charges.append(self._ledger.reserve(path, note=note, extends=self._charges[0]))
            self.guarantee = path
        self._charges[1].start()  # again at every look, lest a failed write be passed over
        if not self._states:
            self.advance()
        return np.array(self._states)

    def last(self) -> FloatArray:
        """Show the last state of each chain, after running to the end.

        Returns
        -------
        ndarray of shape (p, n_chains)
            A column a chain.
        """
        self.advance()
        for charge in self._charges:
            charge.commit()
        return self._states[-1].copy()
