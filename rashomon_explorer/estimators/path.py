"""One path whose states are shown as they are made, charged in parts, and continued.

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

from rashomon_explorer._utils import sklearn_compat
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer._utils.taint import find_leak
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer._utils.validation import check_count
from rashomon_explorer.estimators import pipelines
from rashomon_explorer.estimators.tables import TableAdapter
from rashomon_explorer.exceptions import CuratorOnlyError, LedgerError
from rashomon_explorer.mechanisms.base import Draws, to_public_grid
from rashomon_explorer.mechanisms.langevin import states as langevin
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.request import NO_LEDGER_ALLOCATES
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee, Ledger, compose
from rashomon_explorer.privacy.ledger.charge import Charge, run_with_constant_error

if TYPE_CHECKING:
    from rashomon_explorer.sets import ReleasedSet

N_PARTS = 10
"""Parts in which a path is charged."""

_BLOCKS = 4  # blocks of states in which a part is shown

STOPPED = "the path was stopped by a rule that reads its released states and nothing else"
"""Assumption of a guarantee of a path that ended early."""


class PathSteps:
    """Steps of one family's path on a table, and what is fitted with its states."""

    plan: Any
    n_steps: int
    earlier: Any = None  # the released set that is continued
    last: Guarantee | None = None  # of what is released of the rows after the steps, if anything
    parameter_names: tuple[str, ...]

    def part(self, n_steps: int) -> Guarantee:
        """Guarantee of some of the steps; those of all parts and ``last`` make up the plan's."""
        raise NotImplementedError

    def read(self) -> Iterator[FloatArray | None]:
        """Read the rows, and yield the state (p,) after each step where it is released."""
        raise NotImplementedError

    def fitted(self, states: FloatArray, guarantee: Guarantee, **ended: bool) -> dict[str, Any]:
        """Fitted attributes; ``stopped`` early, or ``unmeasured``: without what comes last."""
        raise NotImplementedError


class LivePathMixin:
    """Estimators whose states can be shown while they are made."""

    def draw_path(self, X: Any, y: Any = None, *, n_parts: int = N_PARTS) -> DrawnPath:
        """Show the states of one Langevin path as they are made, and stop it at any time.

        The whole path is reserved in the ledger, and charged in parts: after :meth:`stop`, or an
        exception inside ``with``, only the parts that began are spent. The decision to stop may use
        the released states and nothing else that was computed from the rows. The set's own
        guarantee is that of the planned length, which covers every shorter path.

        Parameters
        ----------
        X, y : array-like
            As for :meth:`fit`.
        n_parts : int, default=10
            Charges into which the path is divided.

        Returns
        -------
        DrawnPath
            Iterator over blocks (k, p) of states, of one part of the path each. At its end the
            estimator is fitted with all states that were shown.

        Raises
        ------
        BudgetExceededError
            If the ledger does not allow the whole path; nothing was run or spent.
        ValueError
            If the plan is not for a path: linear models need ``mechanism="langevin"``.

        Examples
        --------
        >>> from rashomon_explorer import RashomonClassifier, load_dataset
        >>> data = load_dataset("lending")
        >>> clf = RashomonClassifier(mechanism="langevin", epsilon=0.5, row_norm=1.5)
        >>> with clf.draw_path(data.X, data.y) as path:
        ...     for states in path:
        ...         if path.n_steps_run > path.n_steps / 2:
        ...             break
        >>> 0 < clf.rashomon_set_.n_draws < path.plan.n_draws
        True
        """
        return DrawnPath(self, X, y, n_parts=n_parts)

    def continue_path(
        self, models: Any, X: Any, y: Any = None, *, n_draws: int, n_parts: int = N_PARTS
    ) -> DrawnPath:
        """Take further states of a path from its last released one, for the cost of their steps.

        Parameters
        ----------
        models : ReleasedSet, ReleasedNetworks or their curator's set
            States of a path of the same rows and settings, drawn before or loaded from a file.
        X, y : array-like
            The rows of the path.
        n_draws : int
            Number of further states.
        n_parts : int, default=10
            As for :meth:`draw_path`.

        Returns
        -------
        DrawnPath
            Iterator over the further states. At its end the estimator is fitted with all states,
            and their guarantee is that of both paths together.

        Raises
        ------
        ValueError
            If the models are not states of such a path, or the table has another shape.
        """
        check_count(n_draws=n_draws)
        return DrawnPath(self, X, y, earlier=models, n_draws=n_draws, n_parts=n_parts)


class DrawnPath(Iterator[FloatArray]):
    """Blocks (k, p) of the states of a path, as they are made; see ``draw_path`` of the estimators.

    Attributes
    ----------
    plan : Plan or NetworkPlan
    n_steps, n_steps_run : int
        Steps in all, and made so far; public.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        earlier: Any = None,
        n_draws: int = 0,
        n_parts: int = N_PARTS,
    ) -> None:
        check_count(n_parts=n_parts)
        sklearn_compat.check_parameters(estimator)
        self._estimator = estimator
        leak = find_leak(X, y) or pipelines.find_data_dependent_step(estimator)
        self._table = estimator._table(X, y)
        if leak := leak or self._table.leak:
            raise CuratorOnlyError(f"no state of a path of these rows can be shown: {leak}")
        self._steps: PathSteps = estimator._path_steps(self._table, earlier, n_draws)
        self.plan, self.n_steps = self._steps.plan, self._steps.n_steps
        self.parameter_names = self._steps.parameter_names
        n_rows = self._table.shape[0]
        if n_rows != self.plan.n:
            raise ValueError(
                f"the table has {n_rows} rows, and the path was planned for {self.plan.n}: "
                "continue it with the rows that it was drawn from"
            )
        self._guarantee = self._stated(self.plan.guarantee)
        self.n_steps_run = 0
        lengths = _part_lengths(self.n_steps, n_parts)
        self._ends = list(accumulate(lengths))
        self._charges = list[Charge]()
        self._last: Charge | None = None
        if estimator.ledger is not None:
            self._reserve(lengths)
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

    def _reserve(self, lengths: list[int]) -> None:
        """Reserve each part, and what is released after the steps; void all if one does not fit."""
        estimator = self._estimator
        pipelines.warn_repeated_records(estimator)
        ledger: Any = estimator.ledger
        ledger = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
        parameters, name = estimator._ledger_parameters(self.plan), type(estimator).__name__
        try:
            for number, length in enumerate(lengths, start=1):
                part = self._stated(self._steps.part(length))
                note = f"{name}, part {number} of {len(lengths)} of a path"
                self._charges.append(ledger.reserve(part, note=note, parameters=parameters))
            if self._steps.last is not None:
                note = f"{name}, losses of the states of a path"
                last = self._stated(self._steps.last)
                self._last = ledger.reserve(last, note=note, parameters=parameters)
        except BaseException:
            for charge in self._charges:
                charge.void("the whole path does not fit into the budget")
            raise

    def _made(self) -> Generator[FloatArray]:
        """Run the parts; each begins after its charge has started."""
        if self._charges:
            self._charges[0].start()
        work = run_with_constant_error if self._charges else _plain
        with one_blas_thread():
            released = work(self._read)
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

    def _read(self) -> Iterator[FloatArray | None]:
        if self._charges:
            self._table.register_with_ledger(self._charges[0].path)
        return self._steps.read()

    def _advance(self, released: Iterator[FloatArray | None], end: int) -> FloatArray:
        """Run to step ``end``; return the states (k, p) that were due, on the public grid."""
        due = list[FloatArray]()
        while self.n_steps_run < end:
            theta = next(released)
            self.n_steps_run += 1
            if theta is not None:
                due.append(theta)
        return to_public_grid(np.array(due).reshape(-1, self.plan.p))

    def _settle(self, *, failed: bool = False, measures: bool = False) -> None:
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
        if self._last is not None and not measures:
            self._last.void("no state was shown, or a step failed")
            self._last = None

    def _finish(self) -> None:
        """Void what did not run, and set the fitted attributes from the states that were shown."""
        self._settle(measures=bool(self._kept))
        if self._ended or not self._kept:
            return
        self._ended = True
        guarantee = self._estimator._after_reading(self._guarantee, self._table)
        stopped, earlier = self.n_steps_run < self.n_steps, self._steps.earlier
        if stopped:
            guarantee = replace(guarantee, assumptions=(*guarantee.assumptions, STOPPED))
        if earlier is not None:
            guarantee = compose([earlier.guarantee, guarantee])
            cost = float(rounded_up(guarantee.epsilon(self.plan.delta)))
            guarantee = replace(guarantee, requested=(cost, self.plan.delta))
        ended = {"stopped": stopped, "unmeasured": bool(self._charges) and self._last is None}
        fit = partial(self._steps.fitted, np.concatenate(self._kept), guarantee, **ended)
        fitted = fit() if self._last is None else self._last.run(fit)
        self._estimator._set_fitted_attributes(fitted)


class LinearSteps(PathSteps):
    """Steps of a path of linear models."""

    def __init__(
        self, estimator: Any, table: TableAdapter, earlier: ReleasedSet | None, n_draws: int
    ) -> None:
        self._estimator, self._table, self.earlier = estimator, table, earlier
        n_classes = estimator._n_classes(table)
        self._loss = estimator._loss_for(n_classes)
        if earlier is None:
            plan = estimator._planned(*table.shape, n_classes, table.is_chunked)
            estimator._warn(plan)
        else:
            plan = _continued_plan(earlier, n_draws)
        if not isinstance(plan.details, langevin.StatesDetails) or plan.columns is not None:
            raise ValueError(
                f"this plan is for {plan.mechanism}, of {plan.n_draws} models: set "
                'mechanism="langevin", n_draws of at least 2 and standardize=None for one path'
            )
        self.plan, self.n_steps = plan, plan.details.n_steps
        names, outputs = (*table.feature_names, "intercept"), self._loss.outputs
        several = tuple(f"{k}: {n}" for k in range(outputs) for n in names)
        self.parameter_names = names if outputs == 1 else several

    def part(self, n_steps: int) -> Guarantee:
        """Guarantee of some of the steps."""
        if self.plan.details.is_allocated:  # parts of an epoch have no cost of their own
            raise ValueError(NO_LEDGER_ALLOCATES)
        return langevin.part_guarantee(self.plan, n_steps)

    def read(self) -> Iterator[FloatArray | None]:
        """Read the rows, and return the steps."""
        estimator, rng = self._estimator, self._estimator._generator()
        problem, self._scale = estimator._problem(self._table, self._loss, self.plan, rng)
        self._target = GibbsTarget.of(problem, self.plan)
        start = None if self.earlier is None else self.earlier.coef[-1]
        return langevin.released_states(self._target, self.plan, rng, start)

    def fitted(self, states: FloatArray, guarantee: Guarantee, **ended: bool) -> dict[str, Any]:
        """Fitted attributes of all models; nothing is promised of a path that ended otherwise."""
        coef, plan, estimator = states, self.plan, self._estimator
        if ended["stopped"] or self.earlier is not None:
            plan = langevin.without_promise(plan)
        if self.earlier is not None:
            coef = np.concatenate([self.earlier.coef, coef])
            plan = plan.with_numbers(n_draws=len(coef))
        draws = Draws(coef, self._target.problem.value(coef.T), acceptance=1.0)
        public = {**estimator._public_attributes(self._table), "scale_": self._scale}
        public |= {"plan_": plan, "guarantee_": guarantee}
        return {**public, **estimator._private(self._table, self._target, public, draws)}


def _plain(work: Any) -> Any:
    return work()


def _part_lengths(n_steps: int, n_parts: int) -> list[int]:
    """Numbers of steps of almost equal parts, none of them empty."""
    cuts = np.linspace(0, n_steps, min(n_parts, n_steps) + 1).round().astype(int)
    return np.diff(cuts).tolist()


def _continued_plan(models: ReleasedSet, n_draws: int) -> Plan:
    """Plan of further steps of a path, with the temperature and steps of the first."""
    details = models.plan.details
    if not isinstance(details, langevin.StatesDetails):
        raise ValueError(
            f"these models are draws of {models.plan.mechanism!r}, not states of one path: only "
            'sets of mechanism="langevin" with several draws can be continued'
        )
    n_steps = details.thin * n_draws
    longer = replace(details, n_steps=n_steps, burn_in=0)
    plan = replace(models.plan.with_numbers(n_draws=n_draws), details=longer)
    guarantee = langevin.part_guarantee(plan, n_steps)
    if n_steps > models.plan.details.n_steps:  # it may cost more than was requested
        guarantee = replace(guarantee, requested=None)
    return replace(plan, guarantee=guarantee)
