"""Charges: work that runs after its cost is reserved."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from rashomon_explorer.exceptions import FitError, LedgerError, LedgerWarning, warn_stacklevel
from rashomon_explorer.privacy.conversions import filter_order
from rashomon_explorer.privacy.guarantee import Divergence, Guarantee


@dataclass(frozen=True)
class PendingLedger(os.PathLike[str]):
    """Path and budget of a ledger that is created later, so that plans can use it."""

    path: Path
    epsilon: float
    delta: float

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def order(self) -> float | None:
        """Order at which the ledger will sum Rényi divergences, or None."""
        return filter_order(self.epsilon, self.delta)


T = TypeVar("T")


def run_with_constant_error(work: Callable[[], T]) -> T:
    """Return what ``work`` returns; replace any exception by one with a constant message."""
    try:
        return work()
    except MemoryError:
        raise
    except Exception as error:
        reason = failure_reason(error)
    raise FitError(reason)


def failure_reason(error: Exception) -> str:
    """Detail of a FitError that replaces an exception; it is for the curator."""
    return error.detail if isinstance(error, FitError) else f"{type(error).__name__}: {error}"


def failure_assumption(what: str, *, charged: bool) -> str:
    """Assumption that the work returned, because some rows cause a visible failure."""
    error = "" if charged else ", with an error that only the curator may see"
    return f"the {what} returned: rows not finite or labels not declared make it fail{error}"


EXTENDS = "extends"  # key in the parameters of a charge that extends another


@dataclass(frozen=True)
class LedgerEntry:
    """One charge as recorded in the ledger.

    Parameters
    ----------
    id : int
        Number of the charge, from 1.
    who, when : str
        User and process that reserved it, and the time (UTC).
    note : str
        Free text for readers.
    parameters : dict
        Public settings of the mechanism.
    guarantee : Guarantee
        Guarantee that was charged.
    state : str
        ``"reserved"``, ``"started"`` or ``"committed"``, which all count as spent, or
        ``"voided"``, which does not.
    voided_by, voided_when, voided_why : str or None
        Who voided the charge, when and why.
    divergence : Divergence, optional
        Value added to the ledger's sum of Rényi divergences, if it has one.

    Examples
    --------
    >>> import tempfile
    >>> from rashomon_explorer.privacy import Ledger, pure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.create(f"{folder}/ledger.db", epsilon=2.0, delta=1e-6)
    ...     count = ledger.reserve(pure(0.5), note="a count").run(lambda: 42)
    ...     entry = ledger.entries()[0]
    >>> count, entry.note, entry.state, entry.guarantee.pure_epsilon
    (42, 'a count', 'committed', 0.5)
    """

    id: int
    who: str
    when: str
    note: str
    parameters: dict[str, Any]
    guarantee: Guarantee
    state: str
    voided_by: str | None = None
    voided_when: str | None = None
    voided_why: str | None = None
    divergence: Divergence | None = None

    @property
    def mechanism(self) -> str:
        """Notion in which the guarantee was proved."""
        return self.guarantee.notion

    @property
    def extends(self) -> int | None:
        """Number of the charge that this one extends, or None."""
        return self.parameters.get(EXTENDS)

    @property
    def counts(self) -> bool:
        """Whether the charge is spent."""
        return self.state != "voided"

    @property
    def standing(self) -> str:
        """``"spent"`` or ``"voided"``: the part of the state that does not depend on the rows."""
        return "spent" if self.counts else "voided"

    @property
    def day(self) -> str:
        """Date of the reservation (UTC); exact times would reveal run times in a loop."""
        return self.when[:10]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that do not depend on rows, for JSON."""
        values = {
            **vars(self),
            "guarantee": self.guarantee.to_dict(),
            "state": self.standing,
            "when": self.day,
            "voided_when": self.voided_when and self.voided_when[:10],
        }
        del values["divergence"]
        if self.divergence is not None:
            value = self.divergence.value
            values["divergence"] = "inf" if value == math.inf else value
        return values


class Charge:
    """Reservation whose cost is spent unless it is voided before anything runs.

    Parameters
    ----------
    entry_id : int
        Number of the charge.
    mark : callable
        Writes a state and a reason into the ledger.
    path : Path
        File of the ledger, the only file in which the number identifies this charge.
    identity : str
        Random name of that file, which identifies it if another file replaces it.
    extends : Charge, optional
        The charge that this one extends.

    Attributes
    ----------
    returned : bool
        Whether `run` has returned a result, which may have been seen.
    started : bool
        Whether the mechanism was about to read rows.

    Examples
    --------
    >>> import tempfile
    >>> from rashomon_explorer.privacy import Ledger, pure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.create(f"{folder}/ledger.db", epsilon=2.0, delta=1e-6)
    ...     charge = ledger.reserve(pure(0.5), note="a count")
    ...     count = charge.run(lambda: 42)
    >>> isinstance(charge, Charge), count, charge.returned
    (True, 42, True)
    """

    def __init__(
        self,
        entry_id: int,
        mark: Callable[[int, str, str], None],
        path: Path,
        identity: str,
        extends: Charge | None = None,
    ) -> None:
        self.id = entry_id
        self.path = path
        self.identity = identity
        self.returned = self.started = False
        self._extends = extends
        self._mark = mark
        self._holder = os.getpid()

    def start(self) -> None:
        """Record that the mechanism is about to read its first row; call it before."""
        self._mark(self.id, "started", "")
        self.started = True

    def run(self, work: Callable[[], T]) -> T:
        """Mark the charge as started, call ``work``, which reads rows, and record its end.

        If the end cannot be recorded, the result is still returned with a LedgerWarning: the charge
        stays started, at the same privacy cost.

        Raises
        ------
        FitError
            If ``work`` raises any exception except MemoryError; the charge stays started.
        KeyboardInterrupt
            If it is stopped; the message says that the charge stays started.
        LedgerError
            If the charge was voided or its start cannot be written; ``work`` was not run.
        """
        self.start()
        try:
            result = run_with_constant_error(work)
        except KeyboardInterrupt:
            raise self.interrupt() from None
        self.end()
        return result

    def interrupt(self) -> KeyboardInterrupt:
        """Interrupt that says what a run costs that was stopped after its start."""
        return KeyboardInterrupt(f"charge {self.id} of {self.path} had begun and counts as spent")

    def end(self) -> None:
        """Commit after a result was returned; warn if the commit cannot be written."""
        self.returned = True  # from here on no cost may depend on it, committed or not
        try:
            self.commit()
        except (LedgerError, OSError) as error:
            warnings.warn(
                f"the end of charge {self.id} could not be written: {error}. The result is "
                f"complete and charged; the ledger records the charge as started, which costs the "
                f"same",
                LedgerWarning,
                stacklevel=warn_stacklevel(),
            )

    def commit(self) -> None:
        """Record that the mechanism ran to completion."""
        self._mark(self.id, "committed", "")

    def void(self, why: str = "nothing was run") -> None:
        """Void the charge, because nothing was run under it and nothing will be.

        The entry stays, with who voided it, when and why. Only the process that reserved it can
        void it, as no other can verify that nothing ran; after that process ends it stays spent.

        Raises
        ------
        LedgerError
            If the charge was started, committed or voided, or was reserved by another process, or
            if the result of the charge that it extends may have been seen.
        """
        if os.getpid() != self._holder:
            raise LedgerError(
                f"charge {self.id} can be voided only by the process that reserved it: no other "
                "knows that nothing ran"
            )
        if self._extends is not None and self._extends.returned:
            raise LedgerError(
                f"charge {self.id} cannot be voided, because the result of charge "
                f"{self._extends.id}, which it extends, was returned and may have been seen"
            )
        self._mark(self.id, "voided", why)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a charge stays in the process that reserved it and cannot be pickled")


def incremental_charge(total: Guarantee, entry: LedgerEntry) -> Guarantee:
    """Cost that extends a started charge to the total cost of all results of its run."""
    _check_incremental(total, entry)
    part = entry.guarantee
    return Guarantee(
        total.notion,
        theorem=f"rest of charge {entry.id}, which it makes into: {total.theorem}",
        assumptions=(*total.assumptions, f"counts only together with charge {entry.id}"),
        pure_epsilon=_rest(total.pure_epsilon, part.pure_epsilon),
        rho=_rest(total.rho, part.rho),
        mu=_rest(total.mu, part.mu, power=2),
        seeded=total.seeded,
    )


def remaining_divergence(total: Divergence | None, part: Divergence | None) -> Divergence | None:
    """Difference between the divergences of the total and of a charge, rounded up."""
    if total is None:
        return None
    counted = 0.0 if part is None else part.value
    return Divergence(_rest(total.value, counted), total.sublinear)


def check_extendable(
    charge: Charge, path: Path, identity: str, entries: Iterable[LedgerEntry]
) -> None:
    """Raise a LedgerError if the charge is of another ledger, was seen or was extended before."""
    if charge.path.resolve() != path.resolve():
        raise LedgerError(
            f"charge {charge.id} belongs to the ledger {charge.path}, not to {path}: extend it "
            f"there"
        )
    if charge.identity != identity:
        raise LedgerError(
            f"charge {charge.id} belongs to a ledger that was at {path} before: restore that file "
            f"and extend it there, or reserve the full cost here"
        )
    if charge.returned:  # also if the commit could not be written
        raise LedgerError(
            f"the result of charge {charge.id} was returned and may have been seen, so no further "
            f"cost may depend on it: run again, and charge for all results before any of them is "
            f"shown"
        )
    for entry in entries:
        if entry.id == charge.id and entry.extends is not None:
            raise LedgerError(
                f"charge {entry.id} itself extends charge {entry.extends}: reserve the full cost "
                f"of another run instead"
            )
        if entry.extends == charge.id and entry.counts:
            raise LedgerError(
                f"charge {charge.id} was extended by charge {entry.id}, and its cost counts "
                f"towards one total only: reserve the full cost of the other run instead"
            )


def _check_incremental(total: Guarantee, entry: LedgerEntry) -> None:
    if entry.state == "reserved":
        raise LedgerError(
            f"charge {entry.id} was not started: void it and reserve the full cost instead"
        )
    if entry.state != "started":
        raise LedgerError(
            f"charge {entry.id} was {entry.state}: its result may have been seen, and a cost that "
            f"depends on it is not covered. Run again, and charge for all results before any of "
            f"them is shown"
        )
    if any(g.approximate_epsilon or g.approximate_delta for g in (total, entry.guarantee)):
        raise ValueError("a cost with its own δ cannot be extended: reserve it in full")


def _rest(total: float, part: float, power: int = 1) -> float:
    """Least double r with r^power ≥ total^power − part^power; infinite if the total is infinite."""
    if total == math.inf or part >= total:
        return math.inf if total == math.inf else 0.0
    missing = Fraction(total) ** power - Fraction(part) ** power
    rest = float(missing) if power == 1 else math.sqrt(missing)
    while Fraction(rest) ** power < missing:
        rest = math.nextafter(rest, math.inf)
    return rest
