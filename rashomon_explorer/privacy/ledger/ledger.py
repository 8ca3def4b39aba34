"""The durable budget: reserve, run, commit."""

import math
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rashomon_explorer._utils.formatting import Fact, ReprMixin, epsilon_text
from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.privacy.conversions import zcdp_epsilon
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.ledger.charge import (
    EXTENDS,
    Charge,
    LedgerEntry,
    check_extendable,
    incremental_charge,
    remaining_divergence,
)
from rashomon_explorer.privacy.ledger.file import (
    bring_up_to_date,
    check_same,
    create_file,
    read_budget,
    read_totals,
    reading,
    writing,
)
from rashomon_explorer.privacy.ledger.rows import (
    Budget,
    as_text,
    checked_budget,
    checked_totals,
    find_entry,
    insert_charge,
    ledger_delta,
    ledger_facts,
    mark,
    read_entries,
    refuse_past,
    set_once,
    within,
)
from rashomon_explorer.privacy.ledger.totals import Totals, read_divergence, takes_delta
from rashomon_explorer.privacy.tradeoff.bounded_range import RepeatedBoundedRange

RULES = ("zcdp",)
"""Looser rules that can be asked for by name."""

_USUAL_DELTA = 1e-6
# A ledger's rule costs up to a tenth more than the exact sum of bounded range draws and of
# Gaussian ones, which its page says. Sampled batches cost many times more.
_LOOSE = 1.5
_SLACK = 0.05
_HAIR = 1e-9  # a plan that spends all of what was asked for must not fail by an ulp


def check_covered(
    guarantee: Guarantee, delta: float, rule: str | None, order: float | None = None
) -> None:
    """Refuse a guarantee that costs far more by the ledger's rule than by its own curve.

    What is chosen as one goes adds up in pure DP and at the ledger's one Rényi order, or in zCDP
    where it has none. A trade-off that bounds no divergence there, as that of composed loss
    distributions does not, is not in the sum (docs/ledger.md).
    """
    if rule is not None:
        if rule not in RULES:
            raise ValueError(f"rule must be one of {RULES} or None, got {rule!r}")
        return
    if guarantee.curve is None or isinstance(guarantee.curve, RepeatedBoundedRange):
        return
    if _within_request(guarantee, order):
        return
    delta = delta or _USUAL_DELTA
    charged, own = _charged(guarantee, delta, order), guarantee.epsilon(delta)
    if math.isfinite(charged) and charged > _LOOSE * own + _SLACK:
        raise LedgerError(
            f"no rule of the ledger fits this guarantee ({guarantee.theorem}): the ledger would "
            f"charge ε={epsilon_text(charged)}, while the guarantee's own curve gives "
            f"ε={epsilon_text(own)} at δ={delta:g}. Pay the higher price with "
            'reserve(..., rule="zcdp"), or leave the ledger out and keep the guarantee itself. '
            "Nothing was run and nothing was spent"
        )


def _within_request(guarantee: Guarantee, order: float | None) -> bool:
    """Whether the cost is within the request, as it is for a plan made for this ledger."""
    epsilon, delta = guarantee.requested or (0.0, 0.0)
    return delta > 0 and _charged(guarantee, delta, order) <= epsilon * (1 + _HAIR)


def _charged(guarantee: Guarantee, delta: float, order: float | None) -> float:
    """Cost of a charge within a composition: the ε of the zCDP with the same cost."""
    totals = Totals.of([guarantee], order)
    if order is None or takes_delta(guarantee):
        return totals.epsilon(delta)
    alike = zcdp_epsilon(float(totals.divergences) / order, delta)
    return min(guarantee.pure_epsilon, alike)


class Ledger(ReprMixin):
    """Privacy budget of one data set and every charge against it, in an SQLite file.

    Reserve, start, commit: a charge is written and refused or accepted in one transaction before
    anything reads the rows, so that a crash counts as spent and two processes cannot spend the
    same budget. Only the path and the file's random name are kept: a ledger may be pickled, copied
    and shared by threads, and refuses when another ledger's file is put at its path.

    What is spent is the less of the pure sum and the sum of Rényi divergences at one order, which
    the budget settles and at which zCDP counts too. (ε, δ) holds for everything together even when
    each charge was chosen after seeing the earlier results: the former bounds the privacy loss
    outright, the latter is a privacy filter (docs/ledger.md).

    Parameters
    ----------
    path : str or Path
        An existing ledger; :meth:`create` makes one.

    Examples
    --------
    >>> import tempfile
    >>> from rashomon_explorer.privacy import bounded_range
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Ledger.create(folder.name + "/lending.ledger", epsilon=2.0, delta=1e-6) as ledger:
    ...     charge = ledger.reserve(bounded_range(eta=0.5), note="first look")
    ...     charge.start()  # from here on it cannot be voided; now rows may be read
    ...     charge.commit()
    ...     ledger.spent(), ledger.remaining
    (0.5, 1.5)
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self._identity = bring_up_to_date(self.path)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        epsilon: float | None = None,
        delta: float | None = None,
    ) -> "Ledger":
        """Make a new ledger where there is no file yet.

        Parameters
        ----------
        path : str or Path
            The file, beside the data set.
        epsilon, delta : float, optional
            The budget, for good. A ledger without one records and refuses nothing.

        Raises
        ------
        LedgerError
            If there is a file already, which is left as it is, or none can be written.
        ValueError
            If the budget is out of range, or only half of it is given.
        """
        budget = checked_budget(epsilon, delta)
        path = Path(path).absolute()
        create_file(path, budget)
        return cls(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str], **budget: object) -> "Ledger":
        """Open an existing ledger, as ``Ledger(path)`` does; nothing is ever made by opening.

        Parameters
        ----------
        path : str or Path
            The file.
        **budget
            Takes none: it is set by :meth:`create`.

        Raises
        ------
        LedgerError
            If the file is missing or empty, is not a ledger, or cannot be used.
        TypeError
            If a budget is given.
        """
        if budget:
            raise TypeError(
                f"Ledger.open opens an existing ledger and takes a path only, got "
                f"{', '.join(budget)}: make a new one with Ledger.create(path, epsilon=..., "
                "delta=...)"
            )
        return cls(path)

    def set_budget(self, epsilon: float, delta: float = 0.0) -> None:
        """Give a ledger without a budget one, for good; what was charged before counts.

        Parameters
        ----------
        epsilon, delta : float
            The budget. If its size was chosen by looking at results, it promises nothing of them.

        Raises
        ------
        LedgerError
            If it has another budget, or cannot be written.
        ValueError
            If the budget is out of range.
        """
        budget = checked_budget(epsilon, delta)
        assert budget is not None
        with self._writing() as connection:
            set_once(connection, budget, self.path)

    @property
    def budget(self) -> Budget | None:
        """The budget (ε, δ), or None if none was set."""
        with self._reading() as connection:
            return read_budget(connection)

    @property
    def order(self) -> float | None:
        """The one order at which Rényi divergences are added up, settled with δ > 0; or None."""
        return self._standing()[1].order

    def entries(self) -> list[LedgerEntry]:
        """Every charge, oldest first, voided ones included."""
        with self._reading() as connection:
            return read_entries(connection)

    @property
    def totals(self) -> Totals:
        """What all charges that count add up to, by which the next is accepted or refused."""
        return self._standing()[1]

    def spent(self, delta: float | None = None) -> float:
        """Total ε spent, reservations included; its cost does not grow with the entries.

        Parameters
        ----------
        delta : float, optional
            δ at which to compose; by default the budget's, or 0 without a budget.
        """
        budget, totals = self._standing()
        return totals.epsilon(ledger_delta(budget) if delta is None else delta)

    @property
    def remaining(self) -> float:
        """Budgeted ε less what is spent, at the budget's δ; infinity without a budget."""
        budget, totals = self._standing()
        return math.inf if budget is None else max(0.0, budget[0] - totals.epsilon(budget[1]))

    def epsilon_after(self, guarantee: Guarantee) -> float:
        """Total ε if this were charged too, at the budget's δ."""
        budget, totals = self._standing()
        return totals.plus(guarantee).epsilon(ledger_delta(budget))

    def can_afford(self, guarantee: Guarantee, rule: str | None = None) -> bool:
        """Whether :meth:`reserve` would accept this charge now, by the same ``rule``."""
        budget, totals = self._standing()
        try:
            check_covered(guarantee, ledger_delta(budget), rule, totals.order)
        except LedgerError:
            return False
        return budget is None or within(totals.plus(guarantee).epsilon(budget[1]), budget)

    def reserve(
        self,
        guarantee: Guarantee,
        note: str = "",
        parameters: dict[str, Any] | None = None,
        *,
        extends: Charge | None = None,
        rule: str | None = None,
    ) -> Charge:
        """Write a charge before its mechanism runs.

        Parameters
        ----------
        guarantee : Guarantee
            What is about to run, all draws composed.
        note : str, default=""
            For people.
        parameters : dict, optional
            Public settings of the mechanism, JSON values.
        extends : Charge, optional
            Charge of a run that is to show more than was paid for, such as the trace of a chain
            and not only its last state. ``guarantee`` is then that of everything, and what is
            charged is what it costs beyond the charge; only while that is started and not
            committed, because nothing of the run may have been seen, and only once.
        rule : {"zcdp"}, optional
            For a guarantee whose curve no rule of the ledger covers, such as one of sampled
            batches: charge the zCDP that it implies, which may be many times more.

        Returns
        -------
        Charge
            Call its ``start`` before the mechanism reads the rows, ``commit`` when it has run.

        Raises
        ------
        BudgetExceededError
            If the budget does not allow it; nothing was written.
        TypeError
            If ``guarantee`` is no `Guarantee`, such as a bare ε.
        LedgerError
            If the file cannot be written, its totals are not the sum of its charges, an (ε, δ)
            charge comes after charges without δ, or the charge to extend was not started, may
            have been seen, is another ledger's, or was extended already. Also if the guarantee's
            own curve is much cheaper than the ledger's rule, and ``rule`` is None.
        ValueError
            If ``parameters`` has the key ``"extends"``, which the ledger writes, or there is no
            such rule.
        """
        parameters = dict(parameters or {})
        if EXTENDS in parameters:
            raise ValueError(
                f"the parameter {EXTENDS!r} is reserved for the ledger, got "
                f"{parameters[EXTENDS]!r}: pass the charge itself, reserve(..., extends=charge), "
                f"or choose another key"
            )
        if not isinstance(guarantee, Guarantee):
            raise TypeError(f"guarantee must be one, such as pure(epsilon=0.5), got {guarantee!r}")
        # It may take time: before the file locks.
        budget, totals = self._standing()
        check_covered(guarantee, ledger_delta(budget), rule, totals.order)
        with self._writing() as connection:
            budget, totals = read_budget(connection), checked_totals(connection, self.path)
            told = totals.charge_divergence(guarantee)
            if extends is not None:
                check_extendable(extends, self.path, self._identity, read_entries(connection))
                guarantee = incremental_charge(guarantee, find_entry(connection, extends.id))
                told = remaining_divergence(told, read_divergence(connection, extends.id))
                parameters[EXTENDS] = extends.id
            if budget is not None:
                refuse_past(budget, totals, guarantee, told)
            number = insert_charge(connection, totals, guarantee, told, note, parameters)
        return Charge(number, self._mark, self.path, self._identity, extends)

    def _title(self) -> str:
        return f"Ledger {self.path.name}"

    def _facts(self) -> list[Fact]:
        """Facts for the repr, read from the file now; an unreadable ledger is reported as such."""
        try:
            return ledger_facts(*self._standing())
        except LedgerError as error:
            return [("unreadable", str(error))]

    def check(self) -> None:
        """Compare the running totals with the sum over all entries, which must be equal.

        Raises
        ------
        LedgerError
            If they differ or an entry cannot be read: something else wrote into the file.
        """
        with self._reading() as connection:
            connection.execute("BEGIN")
            read_entries(connection)
            checked_totals(connection, self.path)

    def export(self) -> str:
        """Give the ledger as JSON text, after :meth:`check`: nothing in it is decided by rows.

        A charge is ``"spent"`` or ``"voided"``: whether what was started came to its end may
        depend on the rows. Of times only the day is given: when the next charge of a loop was
        reserved tells how long the one before took.

        Returns
        -------
        str
            Budget, what is spent and left, every entry; infinities are the string ``"inf"``.
        """
        self.check()
        with self._reading() as connection:
            connection.execute("BEGIN")
            return as_text(connection)

    def close(self) -> None:
        """Do nothing: no connection stays open between calls. For symmetry with :meth:`open`."""

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with reading(self.path) as connection:
            check_same(connection, self.path, self._identity)
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with writing(self.path) as connection:
            check_same(connection, self.path, self._identity)
            yield connection

    def _mark(self, number: int, state: str, why: str) -> None:
        with self._writing() as connection:
            mark(connection, number, state, why)

    def _standing(self) -> tuple[Budget | None, Totals]:
        with self._reading() as connection:
            connection.execute("BEGIN")
            return read_budget(connection), read_totals(connection)
