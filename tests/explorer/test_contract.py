"""A price is a contract: a press buys the table, plan and price that its button showed, or nothing.

All buttons that charge the ledger or read the rows keep it, whatever they sell.
"""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from rashomon_explorer.data import load_dataset
from rashomon_explorer.explorer.paid import PaidAction
from rashomon_explorer.explorer.panels.draw import PaidPanel
from rashomon_explorer.explorer.widgets.controls import OfferButton
from rashomon_explorer.plots.text import cost_text
from rashomon_explorer.privacy import Ledger, zcdp
from tests.explorer.pages import press, price_on, set_state

SMALL = {"n_draws": 4, "mechanism": "langevin", "psi": 0.2, "epsilon": 1.0}


class Seller(NamedTuple):
    """Its panel, how the page gets ready for it, its result, and what changes its terms."""

    panel: Callable[[Any], Any]
    ready: Callable[[Any], object]
    result: Callable[[Any], Any]
    change: Callable[[Any], object]

    def button(self, page):
        panel = self.panel(page)
        return panel.audit if panel is page.data_panel else panel.button

    def send(self, page, offer):
        """Do what a press in a browser does that showed this offer, and yes to its question."""
        self.button(page)._receive(None, {"type": "pressed", "offer": offer}, None)
        question = getattr(self.panel(page), "question", None)
        if question is not None and question.open:
            question.yes._receive(None, {"type": "pressed", "offer": offer}, None)


def _draw_and_tick(page):
    set_state(page, **SMALL)
    if page.rashomon_set is None:
        page.draw()
    page.basket_panel.table.ticked = {"mean_accuracy": 1.0}


SELLERS = {
    "a set": Seller(
        lambda page: page.draw_panel,
        lambda page: set_state(page, **SMALL),
        lambda page: page.rashomon_set,
        lambda page: set_state(page, epsilon=3.0),
    ),
    "one model": Seller(
        lambda page: page.goal_panel.one,
        lambda page: set_state(page, goal="one", epsilon=2.0),
        lambda page: page.state.one_model,
        lambda page: set_state(page, epsilon=3.0),
    ),
    "a penalty": Seller(
        lambda page: page.tuning_panel,
        lambda page: set_state(page, psi=0.9, epsilon=2.0),
        lambda page: page.state.tuned,
        lambda page: setattr(page.tuning_panel.many, "value", 5),
    ),
    "aggregates": Seller(
        lambda page: page.basket_panel,
        _draw_and_tick,
        lambda page: page.state.paid or None,
        lambda page: setattr(page.basket_panel.epsilon, "value", 1.5),
    ),
    "an audit": Seller(
        lambda page: page.data_panel,
        lambda page: None,
        lambda page: page.state.outside,
        lambda page: page.session.choose(page.data),
    ),
}


@pytest.fixture(scope="module")
def monks():
    return load_dataset("monks1")


@pytest.fixture(params=SELLERS)
def seller(request):
    return SELLERS[request.param]


@pytest.fixture
def page(cancer_page, seller):
    seller.ready(cancer_page)
    return cancer_page


def _spent(page):
    return {path.name: _charges(path) for path in page.session.home.glob("*.ledger")}


def _charges(path):
    with Ledger.open(path) as ledger:
        return len(ledger.entries())


def test_every_button_that_charges_sells_by_offers(cancer_page):
    """A new paid action that is not listed here fails."""
    actions = [one for one in vars(cancer_page).values() if isinstance(one, PaidAction)]
    panels = [cancer_page.goal_panel.one, *vars(cancer_page).values()]
    panels = [one for one in panels if isinstance(one, PaidPanel)]
    assert {panel.action for panel in panels} == {*actions}
    assert len(SELLERS) == len(actions) + 1  # the audit is free
    assert all(isinstance(panel.button, OfferButton) for panel in panels)
    assert all(isinstance(panel.question.yes, OfferButton) for panel in panels)


def test_a_press_for_another_table_buys_nothing(page, seller, monks):
    offer = seller.button(page).offer
    assert offer
    page.session.choose(monks)
    before, had = _spent(page), seller.result(page)
    seller.send(page, offer)
    assert _spent(page) == before and seller.result(page) is had
    if seller.panel(page) is page.basket_panel:
        assert "no models to release" in page.state.alert.reason
    else:
        assert "press again" in page.state.message and "monks1" in page.state.message
        assert page.state.alert is None


def test_rows_that_take_the_place_of_others_make_other_offers(cancer_page):
    """They may have the same name, shape, plan, ledger and price."""
    actions = [one for one in vars(cancer_page).values() if isinstance(one, PaidAction)]
    before = [one.offer for one in actions]
    cancer_page.state.table_number += 1
    assert not set(before) & {one.offer for one in actions}


def test_settings_that_texts_round_make_other_offers(cancer_page):
    page = cancer_page
    set_state(page, **SMALL)
    actions = page.drawing, page.single, page.tuner
    texts, offers = [[repr(one.quote().plan) for one in actions]], [[one.offer for one in actions]]
    page.state.psi *= 1 + 1e-9
    texts.append([repr(one.quote().plan) for one in actions])
    offers.append([one.offer for one in actions])
    assert texts[0] == texts[1] and not set(offers[0]) & set(offers[1])


def test_a_press_for_other_terms_buys_nothing_and_states_the_price_of_now(page, seller):
    button = seller.button(page)
    offer, before, had = button.offer, _spent(page), seller.result(page)
    seller.change(page)
    seller.send(page, offer)
    assert _spent(page) == before and seller.result(page) is had
    assert "press again" in page.state.message
    if button is not page.data_panel.audit:
        assert f"The price is now {price_on(button)}: press again." in page.state.message
    seller.send(page, button.offer)
    assert page.state.alert is None and seller.result(page) is not had


def test_a_price_that_another_page_changed_is_stated_before_it_is_charged(page, seller):
    button = seller.button(page)
    if button is page.data_panel.audit:
        return
    shown, offer = price_on(button), button.offer
    with Ledger.open(page.session.ledger_to_charge()) as ledger:
        ledger.reserve(zcdp(0.05)).commit()
        before = ledger.spent()
        seller.send(page, offer)
        charged = ledger.spent() - before
    assert cost_text(charged) == shown or (charged == 0 and "press again" in page.state.message)


def test_an_offer_is_sold_once(page, seller):
    button, before = seller.button(page), sum(_spent(page).values())
    offer = button.offer

    async def scenario():
        for _ in range(3):
            seller.send(page, offer)
        await page.wait_until_idle()
        await asyncio.sleep(0)
        tasks = [one.task.task for one in (page.single, page.tuner, page.aggregates)]
        for task in [*tasks, page.data_panel._auditing.task]:
            if task is not None:
                await task
        for _ in range(2):  # late messages of a triple click
            seller.send(page, offer)

    asyncio.run(scenario())
    assert seller.result(page) is not None and page.state.alert is None
    assert sum(_spent(page).values()) == before + (button is not page.data_panel.audit)


def test_the_offer_after_a_sale_is_another_one_and_can_be_bought(cancer_page):
    page, seller = cancer_page, SELLERS["one model"]
    seller.ready(page)
    for _ in range(2):
        seller.send(page, seller.button(page).offer)
    assert page.state.alert is None and sum(_spent(page).values()) == 2


def test_while_a_table_loads_nothing_is_sold(page, seller, monks, monkeypatch):
    button, locked = seller.button(page), []
    choose = type(page.session)._choose
    monkeypatch.setattr(
        type(page.session),
        "_choose",
        lambda session, data: (locked.append(button.disabled), choose(session, data)),
    )
    page.data_panel.name.value = "monks1"
    assert locked == [True] and not page.state.loading


def test_the_offer_on_the_button_is_never_older_than_what_is_sold(page, seller):
    """Otherwise every press would be refused."""
    button, panel = seller.button(page), seller.panel(page)
    changes = {"max_leaves": 3, "leaf_penalty": 0.1, "delta": 1e-5, "radius": 3.0, "goal": "set"}
    changes |= {"budget_epsilon": 9.0, "n_draws": 5, "family": "trees"}
    for name, value in {**changes, "page": "data", "view": "release"}.items():
        setattr(page.state, name, value)
        current = str(page.state.table_number) if panel is page.data_panel else panel.action.offer
        assert button.offer == current, name


def test_yes_answers_the_question_that_it_shows(cancer_page):
    page, panel = cancer_page, cancer_page.basket_panel
    _draw_and_tick(page)
    panel.button.click()
    asked, charges = panel.question.yes.offer, _spent(page)
    panel.epsilon.value = 2.0  # the question closes: its yes is on its way
    panel.question.yes._receive(None, {"type": "pressed", "offer": asked}, None)
    assert _spent(page) == charges
    panel.button.click()
    panel.question.yes._receive(None, {"type": "pressed", "offer": asked}, None)
    assert panel.question.open and _spent(page) == charges
    panel.button.click()  # the button itself is no yes
    assert panel.question.open and _spent(page) == charges
    press(panel)
    assert _spent(page) != charges


def test_settings_moved_during_the_test_on_simulated_rows_are_not_bought(cancer_page, monkeypatch):
    page = cancer_page
    set_state(page, **{**SMALL, "mechanism": "exact", "psi": 0.5, "epsilon": 2.0})
    monkeypatch.setattr(page.drawing, "_may_fail", lambda plan: True)
    monkeypatch.setattr(
        page.drawing, "_reason", lambda plan: page.drawing._infeasible.setdefault(repr(plan), "")
    )

    async def scenario():
        press(page.draw_panel)
        assert page.state.phase == "foretelling"
        page.state.epsilon = 3.0
        await page.wait_until_idle()

    asyncio.run(scenario())
    assert page.ledger is None and "press again" in page.state.message


def test_a_free_look_of_another_family_or_table_draws_nothing(cancer_page, monks):
    page, look = cancer_page, cancer_page.draw_panel.look
    offer = look.offer
    page.session.choose(monks)
    look._receive(None, {"type": "pressed", "offer": offer}, None)
    assert page.rashomon_set is None and page.state.mechanism != "hit_and_run"
    offer = look.offer
    page.state.family = "trees"
    look._receive(None, {"type": "pressed", "offer": offer}, None)
    look.click()
    assert page.rashomon_set is None and page.ledger is None


@pytest.mark.parametrize("tested", [False, True])
def test_a_free_draw_of_other_terms_draws_and_tests_nothing(cancer_page, monkeypatch, tested):
    page, button = cancer_page, cancer_page.draw_panel.button
    set_state(page, **{**SMALL, "mechanism": "hit_and_run"})
    monkeypatch.setattr(page.drawing, "_may_fail", lambda plan: tested)
    offer = button.offer
    set_state(page, psi=0.4)

    async def scenario():
        button._receive(None, {"type": "pressed", "offer": offer}, None)
        assert page.state.phase != "foretelling"
        await page.wait_until_idle()

    asyncio.run(scenario())
    assert page.rashomon_set is None and "press again" in page.state.message
