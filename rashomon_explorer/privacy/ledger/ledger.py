"""Durable privacy budget: reserve, run, commit."""

from __future__ import annotations

import math
import os
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rashomon_explorer._utils.files import network_file_system
from rashomon_explorer._utils.formatting import Fact, ReprMixin, epsilon_text
from rashomon_explorer.exceptions import FitError, LedgerError, LedgerWarning, warn_stacklevel
from rashomon_explorer.privacy.conversions import filter_order, zcdp_epsilon
from rashomon_explorer.privacy.guarantee import ROUNDING, Guarantee
from rashomon_explorer.privacy.ledger import charge, file, rows
from rashomon_explorer.privacy.ledger import totals as sums
from rashomon_explorer.privacy.tradeoff.curves import RepeatedBoundedRange

RULES = ("zcdp",)
"""Weaker rules that can be requested by name."""

_USUAL_DELTA = 1e-6
# The rule of a ledger costs up to a tenth more than the exact sum of bounded-range draws and of
# Gaussian ones, as its documentation states. Sampled batches cost many times more.
_COST_FACTOR = 1.5
_SLACK = 0.05


def check_covered(
    guarantee: Guarantee, delta: float, rule: str | None, totals: sums.Totals
) -> None:
    """Raise a LedgerError if the ledger's rule costs far more than the guarantee's own curve."""
    if rule is not None:
        if rule not in RULES:
            raise ValueError(f"rule must be one of {RULES} or None, got {rule!r}")
        return
    if totals.accounting:
        if math.isinf(totals.cleared().plus(guarantee).epsilon(delta)) and guarantee.holds:
            raise LedgerError(
                f"this ledger counts {totals.notion}, in which nothing is proved of the charge "
                f"({guarantee.theorem}): use a mechanism with such a guarantee, or a ledger "
                "created without accounting=. Nothing was run and nothing was spent"
            )
        return
    if guarantee.curve is None or isinstance(guarantee.curve, RepeatedBoundedRange):
        return
    order = totals.order
    if _within_request(guarantee, order):
        return
    delta = delta or _USUAL_DELTA
    charged, curve_epsilon = _composed_cost(guarantee, delta, order), guarantee.epsilon(delta)
    if math.isfinite(charged) and charged > _COST_FACTOR * curve_epsilon + _SLACK:
        raise LedgerError(
            f"no rule of the ledger fits this guarantee ({guarantee.theorem}): the ledger would "
            f"charge ε={epsilon_text(charged)}, while the guarantee's own curve gives "
            f"ε={epsilon_text(curve_epsilon)} at δ={delta:g}. Accept the higher cost with "
            'reserve(..., rule="zcdp"), or do not use a ledger and keep the guarantee itself. '
            "Nothing was run and nothing was spent"
        )


def _within_request(guarantee: Guarantee, order: float | None) -> bool:
    """Whether the cost is within the request, as for a plan that was made for a ledger."""
    epsilon, delta = guarantee.requested or (0.0, 0.0)
    planned = filter_order(epsilon, delta)
    if planned is None:
        return False
    order = planned if order is None else max(planned, order)
    return _composed_cost(guarantee, delta, order) <= epsilon * (1 + ROUNDING)


def _composed_cost(guarantee: Guarantee, delta: float, order: float | None) -> float:
    """Cost of a charge within a composition: the ε of zCDP with the same divergence."""
    totals = sums.Totals.from_charges([guarantee], order)
    if order is None or sums.is_approximate(guarantee):
        return totals.epsilon(delta)
    return min(guarantee.pure_epsilon, zcdp_epsilon(float(totals.divergences) / order, delta))


class Ledger(ReprMixin):
    """Privacy budget of one data set and all charges against it, in an SQLite file.

    The steps are reserve, start and commit. One transaction checks and writes a charge before rows
    are read, so a crash counts as spent and two processes cannot spend the same budget. The object
    stores only the path and the file's random name: it can be pickled, copied and shared by
    threads. It raises an error if another ledger's file replaces its own.

    A charge is accepted by the pure sum or by the sum of Rényi divergences at one order, which the
    budget fixes and at which zCDP counts too. (ε, δ) holds for all charges together, even if each
    was chosen after seeing the earlier results. The pure sum bounds the privacy loss itself; the
    sum of divergences is a privacy filter. The spent ε is the total of the charges that were made,
    at the best order (docs/ledger.md).

    Parameters
    ----------
    path : str or Path
        An existing ledger; :meth:`create` creates one.

    Examples
    --------
    >>> import tempfile
    >>> from rashomon_explorer.privacy import bounded_range
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Ledger.create(folder.name + "/lending.ledger", epsilon=2.0, delta=1e-6) as ledger:
    ...     charge = ledger.reserve(bounded_range(eta=0.5), note="first look")
    ...     charge.start()  # it can no longer be voided; rows may be read now
    ...     charge.commit()
    ...     ledger.spent(), ledger.remaining
    (0.5, 1.5)
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        kind = network_file_system(self.path.resolve())
        if kind:
            warnings.warn(
                f"the ledger {self.path} is on a network file system ({kind}), whose "
                "locks may fail: two processes could then spend the same budget. Keep it on a disk "
                "that one machine mounts",
                LedgerWarning,
                stacklevel=warn_stacklevel(),
            )
        with file.reading(self.path) as connection:
            self._identity = file.read_identity(connection, self.path)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        accounting: str | None = None,
        order: float | None = None,
    ) -> Ledger:
        """Create a new ledger at a path without a file.

        Parameters
        ----------
        path : str or Path
            File of the ledger, next to the data set; an existing file is an error.
        epsilon, delta : float, optional
            The budget, which is final. Without one, a ledger records charges and accepts all.
        accounting : {"gdp", "rdp", "pure"}, optional
            The one notion in which charges add up beside pure DP, final as the budget: Gaussian
            DP, Rényi DP at one order, or nothing else. By default zCDP, and Rényi divergences at
            the order that wastes no zCDP. docs/ledger.md compares what each pays for.
        order : float, optional
            Order > 1 for ``"rdp"``, by default that of the default.

        Raises
        ------
        LedgerError
            If the path has a file, or cannot be written.
        ValueError
            If a number is out of range, or the accounting does not fit the budget.
        """
        budget = rows.checked_budget(epsilon, delta)
        path = Path(path).absolute()
        file.create_file(path, budget, rows.checked_rule(budget, accounting, order))
        return cls(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str], **budget: object) -> Ledger:
        """Open an existing ledger, as ``Ledger(path)`` does; never create one.

        A budget is not accepted, because :meth:`create` sets it.
        """
        if budget:
            raise TypeError(
                f"Ledger.open opens an existing ledger and takes only a path, got "
                f"{', '.join(budget)}: create a new one with Ledger.create(path, epsilon=..., "
                "delta=...)"
            )
        return cls(path)

    @property
    def budget(self) -> sums.Budget | None:
        """The budget (ε, δ), or None if none was set."""
        with self._reading() as connection:
            return file.read_budget(connection)

    @property
    def order(self) -> float | None:
        """The one order at which Rényi divergences add up; None without one."""
        return self._budget_and_totals()[1].order

    @property
    def accounting(self) -> str | None:
        """Notion that the ledger was told to count: "gdp", "rdp" or "pure"; None by default."""
        return self._budget_and_totals()[1].accounting or None

    def entries(self) -> list[charge.LedgerEntry]:
        """Return all charges, oldest first, including voided ones."""
        with self._reading() as connection:
            return rows.read_entries(connection)

    @property
    def totals(self) -> sums.Totals:
        """Totals of all charges that count; they decide whether the next charge is accepted."""
        return self._budget_and_totals()[1]

    def spent(self, delta: float | None = None) -> float:
        """Total ε of all charges at δ, by default the budget's, including reservations.

        A fit raises it by at most its ``epsilon`` (docs/ledger.md).
        """
        return self._spending().epsilon(delta)

    @property
    def remaining(self) -> float:
        """ε at the budget's δ that is left to charges planned at this δ; infinity without a budget.

        In another notion other amounts are left: after a charge at δ > 0, for example, less of pure
        DP. A refused charge names what is left of its own kind.
        """
        spending = self._spending()
        if spending.budget is None:
            return math.inf
        return max(0.0, spending.budget[0] - spending.epsilon())

    def epsilon_after(self, guarantee: Guarantee) -> float:
        """Return what :meth:`spent` would be if this guarantee were charged too."""
        return self._spending().plus(guarantee).epsilon()

    def can_afford(self, guarantee: Guarantee, rule: str | None = None) -> bool:
        """Whether :meth:`reserve` with the same ``rule`` would accept this charge now."""
        budget, totals = self._budget_and_totals()
        try:
            check_covered(guarantee, rows.ledger_delta(budget), rule, totals)
        except LedgerError:
            return False
        return budget is None or rows.within_budget(
            totals.plus(guarantee).epsilon(budget[1]), budget
        )

    def may_admit(self, epsilon: float, delta: float) -> bool:
        """Whether some fit with this budget might be accepted; False for none, of any table."""
        budget, totals = self._budget_and_totals()
        if budget is None:
            return True
        return rows.within_budget(
            sums.least_charge(totals, epsilon, delta).epsilon(budget[1]), budget
        )

    def reserve(
        self,
        guarantee: Guarantee,
        note: str = "",
        parameters: dict[str, Any] | None = None,
        *,
        extends: charge.Charge | None = None,
        rule: str | None = None,
    ) -> charge.Charge:
        """Write a charge before its mechanism runs.

        Parameters
        ----------
        guarantee : Guarantee
            Guarantee of what is about to run, with all draws composed.
        note : str, default=""
            Free text for readers.
        parameters : dict, optional
            Public settings of the mechanism, JSON values.
        extends : Charge, optional
            Charge of a run that is to release more than it covers, such as the whole trace of a
            chain instead of its last state. ``guarantee`` then covers everything, and only the
            difference to that charge is charged. The charge must be started and not committed,
            because no result may have been seen, and it can be extended only once.
        rule : {"zcdp"}, optional
            Charge the implied zCDP of a guarantee whose curve no rule of the ledger covers, such
            as that of sampled batches. The cost can be many times higher.

        Returns
        -------
        Charge
            Call ``start`` before the mechanism reads rows, and ``commit`` after it has run.

        Raises
        ------
        BudgetExceededError
            If the budget does not allow it; nothing was written.
        TypeError
            If ``guarantee`` is not a `Guarantee`, for example a number ε.
        LedgerError
            If the file cannot be written, its totals are not the sum of its charges, an (ε, δ)
            charge follows charges without δ, or the charge to extend was not started, may have
            been seen, belongs to another ledger, or was already extended. Also if the ledger's
            rule costs much more than the guarantee's own curve, and ``rule`` is None.
        ValueError
            If ``parameters`` has the key ``"extends"``, which the ledger writes, or a value that is
            not JSON, such as NaN; or ``rule`` is unknown.
        """
        parameters = dict(parameters or {})
        if charge.EXTENDS in parameters:
            raise ValueError(
                f"the parameter {charge.EXTENDS!r} is reserved for the ledger, got "
                f"{parameters[charge.EXTENDS]!r}: pass the charge itself, reserve(..., "
                "extends=charge), or choose another key"
            )
        if not isinstance(guarantee, Guarantee):
            raise TypeError(f"expected a Guarantee, such as pure(epsilon=0.5), got {guarantee!r}")
        rows.json_text(parameters)
        # Before the file is locked, because it may take time.
        budget, totals = self._budget_and_totals()
        check_covered(guarantee, rows.ledger_delta(budget), rule, totals)
        with self._writing() as connection:
            budget = file.read_budget(connection)
            totals = rows.checked_totals(connection, self.path)
            recorded = totals.charge_divergence(guarantee)
            if extends is not None:
                entries = rows.read_entries(connection)
                charge.check_extendable(extends, self.path, self._identity, entries)
                entry = rows.find_entry(connection, extends.id)
                guarantee = charge.incremental_charge(guarantee, entry)
                extended = sums.read_divergence(connection, extends.id)
                recorded = charge.remaining_divergence(recorded, extended)
                parameters[charge.EXTENDS] = extends.id
            if budget is not None:
                rows.check_budget_allows(budget, totals, guarantee, recorded)
            number = rows.insert_charge(connection, totals, guarantee, recorded, note, parameters)
        return charge.Charge(number, self._change_state, self.path, self._identity, extends)

    @contextmanager
    def charge(
        self,
        guarantee: Guarantee,
        note: str = "",
        parameters: dict[str, Any] | None = None,
        *,
        rule: str | None = None,
    ) -> Iterator[charge.Charge]:
        """Reserve and start a charge, run the block below ``with``, and commit.

        The block may run any mechanism, of another library or of your own, whose guarantee is
        ``guarantee``; the ledger does not check that it is. `reserve` describes the parameters.

        Raises
        ------
        FitError
            If the block raises any exception except MemoryError; the charge stays spent. The
            message is constant, and ``detail`` holds the reason for the curator.
        BudgetExceededError
            If the budget does not allow it; the block was not run.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> from rashomon_explorer.privacy import pure
        >>> ages, folder = [31, 47, 52], tempfile.TemporaryDirectory()
        >>> ledger = Ledger.create(folder.name + "/ages.ledger", epsilon=1.0)
        >>> with ledger.charge(pure(0.5), note="count of ages above 40, Laplace"):
        ...     above = sum(age > 40 for age in ages) + np.random.default_rng().laplace(0, 2)
        >>> ledger.remaining
        0.5
        >>> folder.cleanup()
        """
        reserved = self.reserve(guarantee, note, parameters, rule=rule)
        reserved.start()
        reason = None
        try:
            yield reserved
        except MemoryError:
            raise
        except KeyboardInterrupt:
            raise reserved.interrupt() from None
        except Exception as error:
            reason = charge.failure_reason(error)
        if reason is None:
            reserved.end()
            return
        failure = FitError(reason)
        try:
            raise failure
        finally:
            failure.__context__ = None  # of the block, which a traceback would print

    def _title(self) -> str:
        return f"Ledger {self.path.name}"

    def _facts(self) -> list[Fact]:
        """Facts for the repr, read from the file now; an unreadable ledger is reported as such."""
        try:
            return rows.ledger_facts(self._spending())
        except LedgerError as error:
            return [("unreadable", str(error))]

    def check(self) -> None:
        """Raise a LedgerError if the running totals are not the sum over all entries."""
        with self._reading() as connection:
            connection.execute("BEGIN")
            rows.read_entries(connection)
            rows.checked_totals(connection, self.path)

    def export(self) -> str:
        """Return the ledger as JSON text, after :meth:`check`; no value depends on rows.

        The state of a charge is ``"spent"`` or ``"voided"``, because whether a started run finishes
        may depend on the rows. Times are given as days only: in a loop, the time of a reservation
        reveals how long the run before it took. Infinities are the string ``"inf"``.
        """
        self.check()
        with self._reading() as connection:
            connection.execute("BEGIN")
            return rows.ledger_json(connection)

    def close(self) -> None:
        """Do nothing, because no connection stays open between calls; counterpart of `open`."""

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with file.reading(self.path) as connection:
            file.check_identity(connection, self.path, self._identity)
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with file.writing(self.path) as connection:
            file.check_identity(connection, self.path, self._identity)
            yield connection

    def _change_state(self, number: int, state: str, why: str) -> None:
        with self._writing() as connection:
            rows.change_state(connection, number, state, why)

    def _spending(self) -> sums.Spending:
        with self._reading() as connection:
            connection.execute("BEGIN")
            return rows.read_spending(connection)

    def _budget_and_totals(self) -> tuple[sums.Budget | None, sums.Totals]:
        with self._reading() as connection:
            connection.execute("BEGIN")
            return file.read_budget(connection), file.read_totals(connection)
