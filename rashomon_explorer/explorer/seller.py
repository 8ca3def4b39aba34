"""Private things that are bought one at a time: ordered, charged, made, kept beside the ledger."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Generic, Protocol, Self, TypeVar

from rashomon_explorer.exceptions import BudgetExceededError, DataError, LedgerError, SamplerError
from rashomon_explorer.explorer.guard import ON_SCREEN_ONLY, PAID_READ, STILL_THERE, report
from rashomon_explorer.explorer.kept_files import NumberedFiles, read_file
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.planning.warn_weak import said_elsewhere
from rashomon_explorer.plots.text import price, what_is_left
from rashomon_explorer.privacy import Guarantee


class Bought(Protocol):
    """What was made and paid for; all of it is public."""

    def to_text(self) -> str:
        """Write it."""

    @classmethod
    def of_text(cls, text: str) -> Self:
        """Inverse of `to_text`."""


T = TypeVar("T", bound=Bought)


class Seller(ABC, Generic[T]):
    """Sells one kind of private thing of the table on screen.

    A subclass says what is planned, how it is made, and what is said of it.

    Parameters
    ----------
    session : Session
        Its data set, settings and ledger.
    """

    kind: ClassVar[type[Bought]]
    trait: ClassVar[str]
    """The state's trait that holds the last one."""

    ending: ClassVar[str]
    """Of the files that keep them."""

    called: ClassVar[str]
    name: ClassVar[str]
    done: ClassVar[str]
    """Words of what is refused: "there is no plan of *one model*", "*This model* would add",
    "nothing was *made*"."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        self._unkept: Exception | None = None
        self.state.observe(lambda _: self._last(), "data")

    @abstractmethod
    def _planned(self) -> Guarantee | None:
        """Guarantee of what the settings plan; None where nothing can be bought."""

    @abstractmethod
    def _maker(self, ledger: Path | None, adds: float) -> Callable[[], T]:
        """Take rows and settings as they are, and return what makes the thing, perhaps aside."""

    @abstractmethod
    def _receipt(self, made: T) -> str:
        """Say what was made, and for how much."""

    def order(self) -> Callable[[], T]:
        """Take an order; carrying it out charges the ledger and reads the rows, perhaps aside."""
        session, state = self.session, self.state
        if state.busy:
            raise DataError("a draw is under way: wait for it or press Stop")
        if state.unconfirmed:
            raise LedgerError(f"nothing of this table may leave: {state.unconfirmed}")
        account, guarantee = session.refresh_account(), self._planned()
        if guarantee is None or account is None:
            told = f"there is no plan of {self.called}: see what is said above the button"
            raise SamplerError(told)
        adds = account.adds(guarantee)
        if not account.affords(guarantee):
            raise BudgetExceededError(
                f"{self.name} would add {price(adds)}, and ε = {what_is_left(account.left)} is "
                f"left: set ε lower. Nothing was {self.done} and nothing was spent."
            )
        ledger = session.ledger_to_charge()
        make = self._maker(ledger, adds)
        kept = None if ledger is None else ledger.with_suffix(".sets")

        def pay() -> T:
            with said_elsewhere():
                made = make()
            try:
                if kept is not None:
                    _keep(kept, made, self.ending)
            except Exception as error:  # whatever it is, it was paid for: `received` tells
                self._unkept = error
            return made

        return pay

    def received(self, made: T) -> None:
        """Put it on screen, say what is left, and report where it could not be kept."""
        setattr(self.state, self.trait, made)
        unkept, self._unkept = self._unkept, None
        try:
            account = self.session.refresh_account()
            left = "" if account is None else f" Left: ε = {what_is_left(account.left)}."
            self.session.say(f"{self._receipt(made)}.{left}")
        finally:
            if unkept is not None:
                report(self.state, f"Keeping {self.called}", unkept, ON_SCREEN_ONLY)

    def _last(self) -> None:
        """Show the last one that was paid for from this table."""
        account, found, errors = self.state.account, None, list[OSError]()
        if self.state.data is not None and account is not None:
            try:
                paths = _files(account.path.with_suffix(".sets"), self.ending).paths()
            except OSError as error:
                paths = []
                errors.append(error)
            while paths and found is None and not errors:
                found = read_file(paths.pop(), self.kind.of_text, errors.append)
        setattr(self.state, self.trait, found)
        if errors:
            report(self.state, PAID_READ, errors[0], STILL_THERE)


def _keep(folder: Path, made: Bought, ending: str) -> None:
    _files(folder, ending).add(made.to_text())


def _files(folder: Path, ending: str) -> NumberedFiles:
    return NumberedFiles(folder, "", ending)
