"""Where a basket is filled and paid for: what is on screen, the ledger, and what was bought."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from rashomon_explorer.exceptions import CuratorOnlyError, DataError
from rashomon_explorer.explorer.basket.basket import Basket
from rashomon_explorer.explorer.basket.choices import Paid
from rashomon_explorer.explorer.basket.contents import Contents
from rashomon_explorer.explorer.basket.purchase import Purchase, Purchases
from rashomon_explorer.explorer.family import in_words, trees_in
from rashomon_explorer.explorer.guard import ON_SCREEN_ONLY, PAID_READ, STILL_THERE, report
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.planning.warn_weak import said_elsewhere
from rashomon_explorer.plots.text import plural, price, what_is_left
from rashomon_explorer.rashomon_set import RashomonSet
from rashomon_explorer.release import release
from rashomon_explorer.schema import Categorical, Ordered, YesNo
from rashomon_explorer.schema.provenance import public_part

_NO_MODELS = "there are no models to release yet: press Draw"
_NO_ROWS = "the rows are not here, and aggregates are made of them: choose the data set under Data"
_IN_BLOCKS = (
    "aggregates are made of rows that are held, and these come in blocks, of which only the models "
    "may leave: save the bundle, or buy aggregates of a sample that you name as one, "
    "release(models, *explorer.blocks.sample(50_000).held(), ...)"
)
_LEVELLED = (Categorical, Ordered, YesNo)


@dataclass(frozen=True, eq=False)
class Order:
    """A basket that is about to be paid for.

    Attributes
    ----------
    pay : callable
        Charges the ledger, reads the rows, and gives what was bought.
    models : RashomonSet or PredictorSet
        The set on screen when it was ordered.
    """

    pay: Callable[[], Purchase]
    models: Any


class _Unkept(NamedTuple):
    """A purchase that could not be written: shown, and written as soon as that is possible."""

    place: Purchases
    bought: Purchase
    error: Exception


_OTHERS = "only models that were drawn and paid for may leave"


class Shop:
    """What may be bought of the rows for the set on screen, and what was.

    Parameters
    ----------
    session : Session
        Its set, rows and ledger; ``state.paid`` follows the set on screen.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        self._of: Any = None
        self._unkept: list[_Unkept] = []
        self.state.observe(lambda _: self._follow(), ["in_view", "rashomon_set"])
        self._follow()

    def models(self, draws: tuple[int, ...] | None = None) -> Paid:
        """Give what may leave of the set on screen: all, or some chosen without private rows.

        Raises
        ------
        DataError, CuratorOnlyError
            If there is nothing that may leave, saying why.
        """
        drawn = self.state.rashomon_set
        if drawn is None or not drawn.n_draws or self.state.spent:
            raise DataError(_NO_MODELS)
        if not isinstance(drawn, RashomonSet) and trees_in(drawn) is None:
            raise CuratorOnlyError(_OTHERS)
        if not drawn.guarantee.holds:
            raise CuratorOnlyError(f"these models may not leave: {drawn.guarantee.theorem}")
        with said_elsewhere():
            released: Paid = drawn.release()
        if draws is None:
            return released
        mask = np.isin(np.arange(released.n_draws), draws)
        return released.filter(mask, reads_rows=False)

    @property
    def groups(self) -> Mapping[str, tuple[Any, ...]]:
        """Sensitive columns whose levels are declared or confirmed, and the levels."""
        data = self.state.data
        if data is None:
            return {}
        columns = [one for one in data.schema.columns if one.role == "sensitive" and not one.learnt]
        return {one.name: tuple(one.texts) for one in columns if isinstance(one, _LEVELLED)}

    def basket(
        self,
        names: tuple[str, ...],
        epsilon: float,
        *,
        weights: Mapping[str, float] | None = None,
        draws: tuple[int, ...] | None = None,
        group: str = "",
    ) -> Basket:
        """Fill a basket for the set on screen; reads no row.

        Raises
        ------
        DataError, CuratorOnlyError
            If nothing of this set or table can be bought.
        """
        state, models = self.state, self.models(draws)
        if state.data is None or self.session.rows is None:
            raise DataError(_NO_ROWS)
        if self.session.in_blocks:
            raise DataError(_IN_BLOCKS)
        if state.unconfirmed:
            raise CuratorOnlyError(f"nothing of this table may leave: {state.unconfirmed}")
        return Basket(
            models,
            len(self.session.rows),
            names,
            epsilon,
            0.0 if state.account is None else state.account.delta,
            weights or {},
            self.groups.get(group, ()),
        )

    def contents(self, draws: tuple[int, ...] | None = None) -> Contents:
        """Say what may leave of the set on screen, with what was paid for of these models."""
        state = self.state
        data = state.data
        usable = data is not None and not data.bounds_learnt
        return Contents(
            "a table" if data is None else str(data.name),
            in_words(self.models(draws), None if state.unconfirmed else data),
            self._n_rows,
            tuple(one for one in state.paid if one.draws == draws),
            public_part(data.schema) if usable else None,
            self.session.constants,
            self.session.refresh_account(),
        )

    @property
    def _n_rows(self) -> int | None:
        """Rows of the table; None of trees from elsewhere, which do not know it."""
        if self.session.rows is not None:
            return self.session.shape[0]
        drawn = self.state.rashomon_set
        return int(drawn.plan.n) if isinstance(drawn, RashomonSet) else None

    def order(
        self, basket: Basket, *, draws: tuple[int, ...] | None = None, group: str = ""
    ) -> Order:
        """Take an order; carrying it out charges the ledger and reads the rows, perhaps aside.

        The set and table on screen may change meanwhile: what was ordered stays what it is.
        """
        session, account = self.session, self.session.refresh_account()
        if basket.plan is None or account is None:
            raise DataError("the basket is empty: tick what is to be released")
        ledger, adds = session.ledger_to_charge(), basket.adds(account)
        rows, targets, at = session.rows, session.targets, datetime.now().replace(microsecond=0)
        by = self.state.data.sensitive[group] if basket.categories else None
        kept = self._purchases()

        def pay() -> Purchase:
            with said_elsewhere():
                released = release(basket.models, rows, targets, by, ledger=ledger, **basket.budget)
            bought = Purchase(released, at, adds, draws, group)
            if kept is not None:
                try:
                    kept.add(bought)
                except Exception as error:  # whatever it is, it was paid for: `received` tells
                    self._unkept.append(_Unkept(kept, bought, error))
            return bought

        return Order(pay, self.state.rashomon_set)

    def received(self, order: Order, bought: Purchase) -> None:
        """Put on screen what was bought, if its set is still there, and say what is left.

        Where it could not be kept, that is reported.
        """
        state, session = self.state, self.session
        there = [one.released.charge for one in state.paid]  # read from its file meanwhile
        if _same(state.rashomon_set, order.models) and bought.released.charge not in there:
            state.paid = (*state.paid, bought)
        unkept = [one.error for one in self._unkept if one.bought is bought]
        try:
            account = session.refresh_account()
            left = "" if account is None else f" Left: ε = {what_is_left(account.left)}."
            numbers = plural(len(bought.released.statistics), "number")
            session.say(f"Bought {numbers} for {price(bought.adds)}.{left}")
        finally:
            for error in unkept:
                report(state, "Keeping what was bought", error, ON_SCREEN_ONLY)

    def _purchases(self) -> Purchases | None:
        kept, number = self.session.kept_sets, self.state.in_view
        return None if kept is None or not number else Purchases(kept.paid(number))

    def _follow(self) -> None:
        """Show what was paid for of the set on screen, and of no other."""
        drawn = self.state.rashomon_set
        same = _same(drawn, self._of)
        self._of = drawn
        kept = self._purchases()
        if kept is not None:
            errors: list[OSError] = []
            written = kept.all(errors.append)
            self.state.paid = (*written, *self._kept_again(kept))
            if errors:
                report(self.state, PAID_READ, errors[0], STILL_THERE)
        elif not same:
            self.state.paid = ()

    def _kept_again(self, kept: Purchases) -> tuple[Purchase, ...]:
        """Purchases of a set that were not kept; each is tried once more."""
        again = [one for one in self._unkept if one.place.path == kept.path]
        for one in again:
            with suppress(Exception):
                kept.add(one.bought)
                self._unkept.remove(one)
        return tuple(one.bought for one in again)


def _same(models: Any, others: Any) -> bool:
    """Whether two sets are of the same draws, whatever ψ they are looked at with."""
    if isinstance(models, RashomonSet) and isinstance(others, RashomonSet):
        return np.array_equal(models.coef, others.coef)
    trees = trees_in(models)
    return trees is not None and trees == trees_in(others)
