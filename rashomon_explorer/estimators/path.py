"""One Langevin path whose states are shown as they are made, charged in parts, and continued.

A path is reserved whole, as one charge for each part of its steps. A part's charge starts before
its first step, and charges of parts that never start are voided: so a ledger counts the steps that
ran, to the next part, and all of them if the process is killed. The parts compose adaptively, as
whatever the caller does next is a function of released states (docs/theory.md §30).
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from rashomon_explorer._utils import formatting, sklearn_compat, taint, threads
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_count
from rashomon_explorer.estimators import pipelines
from rashomon_explorer.exceptions import CuratorOnlyError, LedgerError
from rashomon_explorer.mechanisms import base, request, target
from rashomon_explorer.mechanisms.langevin import states
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.privacy import Guarantee, Ledger, compose
from rashomon_explorer.privacy.ledger.charge import Charge, run_with_constant_error

if TYPE_CHECKING:
    from rashomon_explorer.sets import ReleasedSet

N_PARTS = 10
"""Parts in which a path is charged."""

_BLOCKS = 4  # blocks of states in which a part is shown

STOPPED = "the path was stopped by a rule that reads its released states and nothing else"
"""Assumption of a guarantee of a path that ended early."""


class DrawnPath(Iterator[FloatArray]):
    """Blocks (k, p) of the states of a path, as they are made; see ``draw_path`` of the estimators.

    Attributes
    ----------
    plan : Plan
    n_steps_run : int
        Steps made so far; public.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        plan: Plan | None = None,
        earlier: ReleasedSet | None = None,
        n_parts: int = N_PARTS,
    ) -> None:
        check_count(n_parts=n_parts)
        sklearn_compat.check_parameters(estimator)
        self._estimator, self._earlier = estimator, earlier
        leak = taint.find_leak(X, y) or pipelines.find_data_dependent_step(estimator)
        self._table = estimator._table(X, y)
        if leak := leak or self._table.leak:
            raise CuratorOnlyError(f"no state of a path of these rows can be shown: {leak}")
        n_classes = estimator._n_classes(self._table)
        self._loss = estimator._loss_for(n_classes)
        if plan is None:
            shape = self._table.shape
            plan = estimator._planned(*shape, n_classes, self._table.is_chunked)
            estimator._warn(plan)
        self.plan = plan
        n_rows = self._table.shape[0]
        if n_rows != plan.n:
            raise ValueError(
                f"the table has {n_rows} rows, and the path was planned for {plan.n}: continue it "
                "with the rows that it was drawn from"
            )
        if not isinstance(plan.details, states.StatesDetails) or plan.columns is not None:
            raise ValueError(
                f"this plan is for {plan.mechanism}, of {plan.n_draws} models: set "
                'mechanism="langevin", n_draws of at least 2 and standardize=None for one path'
            )
        self._guarantee = self._stated(plan.guarantee)
        self.n_steps_run = 0
        n_steps = plan.details.n_steps  # in parts of almost equal length, none of them empty
        cuts = np.linspace(0, n_steps, min(n_parts, n_steps) + 1).round().astype(int)
        lengths: list[int] = np.diff(cuts).tolist()
        self._ends = list(accumulate(lengths))
        self._charges = self._reserved(lengths)
        self._holder, self._settled, self._ended = os.getpid(), False, False
        self._kept = list[FloatArray]()
        self._blocks = self._made()

    def __next__(self) -> FloatArray:
        """Return the next states; StopIteration after the last."""
        if os.getpid() != self._holder:
            raise LedgerError(
                "this path belongs to the process that charged the ledger for it: output of a "
                "forked copy would be a second draw for one charge. Start a path there"
            )
        try:
            return next(self._blocks)
        except StopIteration:
            raise
        except BaseException:
            self._settle(failed=True)
            raise

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the p parameters."""
        names = (*self._table.feature_names, "intercept")
        outputs = self._loss.outputs
        return names if outputs == 1 else tuple(f"{k}: {n}" for k in range(outputs) for n in names)

    def stop(self) -> None:
        """End the path: void what did not run, and set the estimator's fitted attributes."""
        self._blocks.close()
        self._finish()

    def __enter__(self) -> DrawnPath:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def __del__(self) -> None:
        """Void what did not run, also if the caller forgot to stop."""
        if not getattr(self, "_settled", True) and os.getpid() == self._holder:
            self._settle()

    def _stated(self, guarantee: Guarantee) -> Guarantee:
        return self._estimator._with_assumptions(guarantee, self._table.assumptions)

    def _reserved(self, lengths: list[int]) -> list[Charge]:
        estimator = self._estimator
        if estimator.ledger is None:
            return []
        if self.plan.details.is_allocated:  # parts of an epoch have no cost of their own
            raise ValueError(request.NO_LEDGER_ALLOCATES)
        pipelines.warn_repeated_records(estimator)
        opened = isinstance(estimator.ledger, Ledger)
        ledger = estimator.ledger if opened else Ledger.open(estimator.ledger)
        parameters = estimator._ledger_parameters(self.plan)
        charges = list[Charge]()
        try:
            for number, length in enumerate(lengths, start=1):
                part = self._stated(states.part_guarantee(self.plan, length))
                note = f"{type(estimator).__name__}, part {number} of {len(lengths)} of a path"
                charges.append(ledger.reserve(part, note=note, parameters=parameters))
        except BaseException:
            for charge in charges:
                charge.void("the whole path does not fit into the budget")
            raise
        return charges

    def _made(self) -> Generator[FloatArray]:
        """Run the parts; each begins after its charge has started."""
        if self._charges:
            self._charges[0].start()
        work = run_with_constant_error if self._charges else _plain
        with threads.one_blas_thread():
            self._target = work(self._read)
            released = states.released_states(self._target, self.plan, self._rng, self._start())
            for part, end in enumerate(self._ends):
                if self._charges and part > 0:
                    self._charges[part].start()
                for block_end in np.linspace(self.n_steps_run, end, _BLOCKS + 1)[1:].astype(int):
                    block = work(partial(self._advance, released, int(block_end)))
                    if len(block):
                        self._kept.append(block)
                        yield block
                if self._charges:
                    self._charges[part].end()
        self._finish()

    def _read(self) -> target.GibbsTarget:
        estimator = self._estimator
        if self._charges:
            self._table.register_with_ledger(self._charges[0].path)
        self._rng = estimator._generator()
        problem, self._scale = estimator._problem(self._table, self._loss, self.plan, self._rng)
        return target.GibbsTarget.of(problem, self.plan)

    def _start(self) -> FloatArray | None:
        return None if self._earlier is None else self._earlier.coef[-1]

    def _advance(self, released: Iterator[FloatArray | None], end: int) -> FloatArray:
        """Run to step ``end``; return the states (k, p) that were due, on the public grid."""
        due = list[FloatArray]()
        while self.n_steps_run < end:
            theta = next(released)
            self.n_steps_run += 1
            if theta is not None:
                due.append(theta)
        return base.to_public_grid(np.array(due).reshape(-1, self.plan.p))

    def _settle(self, *, failed: bool = False) -> None:
        """Void the charges of parts that did not begin, and end that of the part that was shown."""
        if self._settled:
            return
        self._settled = True
        for charge in self._charges:
            if charge.started and not charge.returned and not failed:
                charge.end()
        for end, charge in zip(self._ends, self._charges, strict=False):  # no ledger, no charge
            if end > self.n_steps_run and not charge.started:
                charge.void("the path was stopped before this part")

    def _finish(self) -> None:
        """Void what did not run, and set the fitted attributes from the states that were shown."""
        self._settle()
        if self._ended or not self._kept:
            return
        self._ended = True
        guarantee = self._estimator._after_reading(self._guarantee, self._table)
        coef, plan = np.concatenate(self._kept), self.plan
        if self.n_steps_run < plan.details.n_steps or self._earlier is not None:
            plan = states.without_promise(plan)
        if self.n_steps_run < self.plan.details.n_steps:
            guarantee = replace(guarantee, assumptions=(*guarantee.assumptions, STOPPED))
        if self._earlier is not None:
            coef = np.concatenate([self._earlier.coef, coef])
            guarantee = compose([self._earlier.guarantee, guarantee])
            cost = float(formatting.rounded_up(guarantee.epsilon(plan.delta)))
            guarantee = replace(guarantee, requested=(cost, plan.delta))
            plan = plan.with_numbers(n_draws=len(coef))
        problem = self._target.problem
        draws = base.Draws(coef, problem.value(coef.T), acceptance=1.0)
        public = {**self._estimator._public_attributes(self._table), "scale_": self._scale}
        public |= {"plan_": plan, "guarantee_": guarantee}
        private = self._estimator._private(self._table, self._target, public, draws)
        self._estimator._set_fitted_attributes({**public, **private})


def _plain(work: Any) -> Any:
    return work()


def continued_plan(models: ReleasedSet, n_draws: int) -> Plan:
    """Plan of further steps of a path, with the temperature and steps of the first."""
    details = models.plan.details
    if not isinstance(details, states.StatesDetails):
        raise ValueError(
            f"these models are draws of {models.plan.mechanism!r}, not states of one path: only "
            'sets of mechanism="langevin" with several draws can be continued'
        )
    check_count(n_draws=n_draws)
    n_steps = details.thin * n_draws
    longer = replace(details, n_steps=n_steps, burn_in=0)
    plan = replace(models.plan.with_numbers(n_draws=n_draws), details=longer)
    guarantee = states.part_guarantee(plan, n_steps)
    if n_steps > models.plan.details.n_steps:  # it may cost more than was requested
        guarantee = replace(guarantee, requested=None)
    return replace(plan, guarantee=guarantee)
