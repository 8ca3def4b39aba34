"""The contract of every action that is paid for: one price, one charge, a saved result, a receipt.

A press buys the table, plan and price that its button showed, or nothing; so does a free audit.
"""

import asyncio
import re
import shutil
from collections.abc import Callable
from typing import Any, NamedTuple
from unittest.mock import Mock

import pytest

from rashomon_explorer._utils.formatting import left_text
from rashomon_explorer.data import load_dataset
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.bundle import readme
from rashomon_explorer.explorer.paid import PaidAction
from rashomon_explorer.explorer.panels.draw import PaidPanel
from rashomon_explorer.explorer.widgets import controls
from rashomon_explorer.plots.text import cost_text
from rashomon_explorer.privacy import Ledger, zcdp
from tests.explorer.pages import press, price_on, set_state

SMALL = {"n_draws": 4, "mechanism": "langevin_clipped", "psi": 0.2, "epsilon": 1.0}


class Seller(NamedTuple):
    """Its panel, how the page gets ready, its result, what changes its terms, and what it says."""

    panel: Callable[[Any], Any]
    ready: Callable[[Any], object]
    result: Callable[[Any], Any]
    change: Callable[[Any], object]
    note: str = ""
    receipt: str = ""

    def button(self, page):
        return self.panel(page).button

    def send(self, page, offer):
        """Do what a press in a browser does that showed this offer, and yes to its question."""
        self.button(page)._receive(None, {"type": "pressed", "offer": offer}, None)
        question = getattr(self.panel(page), "question", None)
        if question is not None and question.open:
            question.yes._receive(None, {"type": "pressed", "offer": offer}, None)


def _tick(page):
    if page.rashomon_set is None:
        set_state(page, **SMALL)
        page.draw()
    page.basket_panel.table.ticked = {"ambiguity": 1.0, "mean_accuracy": 1.0}


SELLERS = {
    "a set": Seller(
        lambda page: page.draw_panel,
        lambda page: set_state(page, **SMALL),
        lambda page: None if page.rashomon_set is None else page.rashomon_set.coef.tolist(),
        lambda page: set_state(page, epsilon=3.0),
        "RashomonClassifier",
        "Drew 4 models",
    ),
    "one model": Seller(
        lambda page: page.goal_panel.one,
        lambda page: set_state(page, goal="one", epsilon=2.0),
        lambda page: page.state.one_model,
        lambda page: set_state(page, epsilon=3.0),
        "DPClassifier",
        "Made one model by",
    ),
    "aggregates": Seller(
        lambda page: page.basket_panel,
        _tick,
        lambda page: page.state.releases,
        lambda page: setattr(page.basket_panel.epsilon, "value", 1.5),
        "release: ambiguity, mean_accuracy",
        "Released 2 numbers",
    ),
    "an audit": Seller(
        lambda page: page.fitting_panel,
        lambda page: None,
        lambda page: page.state.audit,
        lambda page: page.session.choose(page.data),
    ),
}
PAID = [name for name in SELLERS if name != "an audit"]


@pytest.fixture(scope="module")
def drawn_home(tmp_path_factory, cancer):
    """The files of a page whose models were drawn once."""
    page = Explorer(data=cancer, home=tmp_path_factory.mktemp("drawn"))
    _tick(page)
    return page.session.home


@pytest.fixture(scope="module")
def monks():
    return load_dataset("monks1")


@pytest.fixture
def action(request):
    """One model, or what `sold_by` names: all actions share the code of `PaidAction`."""
    return SELLERS[getattr(request, "param", "one model")]


seller = action


def sold_by(name, *sellers):
    return pytest.mark.parametrize(name, sellers, indirect=True)


@pytest.fixture
def page(request, explorer, cancer, drawn_home):
    """A page that is ready for the test's action or seller."""
    named = "action" if "action" in request.fixturenames else "seller"
    sells = request.getfixturevalue(named)
    if sells is SELLERS["aggregates"]:
        shutil.copytree(drawn_home, explorer.session.home, dirs_exist_ok=True)
    explorer.session.choose(cancer)
    sells.ready(explorer)
    return explorer


def _charges(page):
    return [] if page.ledger is None else page.ledger.entries()


@sold_by("action", *PAID)
def test_the_price_on_the_button_is_what_the_ledger_charges_and_the_result_is_saved(page, action):
    panel, before = action.panel(page), page.ledger.spent() if page.ledger else 0.0
    price = price_on(panel.button)
    assert price in panel.price.value and len(_charges(page)) == (before > 0)
    press(panel)
    assert page.state.alert is None
    assert cost_text(page.ledger.spent() - before) == price
    entry = page.ledger.entries()[-1]
    assert entry.state == "committed" and entry.note.startswith(action.note)
    left = left_text(page.state.account.left)
    assert page.state.message.startswith(action.receipt)
    assert page.state.message.endswith(f" for {price}. Remaining: ε = {left}.")
    assert price.removeprefix("ε = ") in page.ledger_panel.charges.value
    result, again = action.result(page), Explorer(data=page.data, home=page.session.home)
    assert result and action.result(again) == result
    assert len(_charges(again)) == len(_charges(page))


@sold_by("action", "a set", "aggregates")
def test_past_the_budget_nothing_is_read_and_nothing_is_spent(page, action):
    panel, before, charges = action.panel(page), action.result(page), len(_charges(page))
    page.state.epsilon = 50.0
    page.basket_panel.epsilon.value = 10.0
    assert panel.button.disabled and panel.button.button_style == ""
    assert "Over the budget" in panel.price.value
    panel.button.click()  # locked, and pressed all the same
    assert "nothing was spent" in page.state.alert.reason
    assert len(_charges(page)) == charges and action.result(page) == before
    assert page.state.epsilon == 50.0


@sold_by("action", "one model", "aggregates")
def test_a_weak_guarantee_is_confirmed_and_aggregates_always_are(page, action):
    page.state.epsilon, panel, charges = 0.05, action.panel(page), len(_charges(page))
    panel.button.click()
    assert panel.question.open and "cannot be undone" in panel.question.text.html
    panel.question.no.click()
    assert not panel.question.open and len(_charges(page)) == charges


@sold_by("action", "a set", "one model")
def test_the_page_stays_alive_and_pays_once(page, action):
    panel, charges = action.panel(page), len(_charges(page))

    async def scenario():
        press(panel)
        assert panel.button.disabled
        panel.button.click()  # a double click
        if panel is not page.draw_panel:
            assert panel.button.description == f"{panel.action.doing}…"
            panel.action.start()  # once is enough
            await panel.action.task.task
        await page.wait_until_idle()

    asyncio.run(scenario())
    assert page.state.alert is None and len(_charges(page)) == charges + 1
    assert action.result(page)


@sold_by("action", *PAID)
def test_a_result_that_cannot_be_saved_is_shown_and_reported(page, action, monkeypatch):
    class Unforeseen(Exception):
        """An error of saving that nobody thought of; a full disk is one too."""

    broken = Mock(side_effect=Unforeseen("No space left on device"))
    panel, charges = action.panel(page), len(_charges(page))
    with monkeypatch.context() as patch:
        patch.setattr("rashomon_explorer._utils.files.write_new_file", broken)
        press(panel)
    assert action.result(page) and page.state.message.startswith(action.receipt)
    assert "No space left" in page.state.alert.reason and "save the bundle" in page.state.alert.kept
    assert len(_charges(page)) == charges + 1
    page.state.alert = None
    action.ready(page)
    press(panel)
    assert page.state.alert is None


def test_button_plan_receipt_list_and_bundle_show_the_one_price_of_a_set(cancer_page):
    """The first charge costs more than the draws alone, a later one less."""
    page = cancer_page
    set_state(page, **SMALL)
    for number in (1, 2):
        price = price_on(page.draw_panel.button)
        assert re.search(f"Privacy cost</abbr></dt><dd>{price}</dd>", page.plan_panel.facts.value)
        before = page.ledger.spent() if page.ledger else 0.0
        page.draw()
        assert cost_text(page.ledger.spent() - before) == price != cost_text(_alone(page))
        assert f"Spent</abbr></dt><dd>{price}</dd>" in page.numbers_panel.facts.value
        assert f"4 models: <b>{price}</b>" in page.take_panel.receipt.value
        assert f"Models: {price}." in readme(page.aggregates.contents())
        assert f"Draw {number} · 4 models · {price}" in page.bar.sets.choice.label
        again = Explorer(data=page.data, home=page.session.home)
        assert f"Spent</abbr></dt><dd>{price}</dd>" in again.numbers_panel.facts.value
        for note in page.session.set_store.folder.glob("*.json"):  # of an older version
            note.unlink()
        entry = page.ledger.entries()[-1].guarantee
        assert page.state.account.charged(entry) == pytest.approx(page.ledger.spent() - before)
        page.state.epsilon = 0.7


def _alone(page):
    return page.guarantee.epsilon(page.rashomon_set.plan.delta)


def test_while_models_are_drawn_the_price_beside_the_last_set_is_its_own(cancer_page):
    page = cancer_page
    set_state(page, **SMALL)
    page.draw()
    shown, cost = page.numbers_panel.facts.value, page.state.charged
    set_state(page, epsilon=0.5)
    job = page.drawing.prepare()
    assert page.state.charged == cost and cost_text(cost) in page.numbers_panel.facts.value
    job.run()
    page.drawing.pump()
    assert page.state.charged < cost and page.numbers_panel.facts.value != shown


def test_a_cost_that_differs_from_its_epsilon_says_why_in_one_sentence(page, action):
    """Beside the button; where they agree, there is nothing to say."""
    panel = action.panel(page)
    for _ in range(2):
        cost, requested = panel.action.quote().cost, panel.action.requested
        words = cost.explained(requested)
        assert (words == "") == (cost.text == cost_text(requested))
        assert words.removesuffix(".") in panel.price.value
        if page.ledger is not None and cost.adds < requested:
            after = cost_text(page.state.account.after(cost.plan.guarantee)).removeprefix("ε = ")
            assert f"→ {after}), not" in words and "cost less together" in words
        press(panel)
        action.ready(page)


def _spent(page):
    spent = {}
    for path in page.session.home.glob("*.ledger"):
        with Ledger.open(path) as ledger:
            spent[path.name] = len(ledger.entries())
    return spent


def test_every_button_that_charges_sells_by_offers(cancer_page):
    """A new paid action that is not listed here fails."""
    actions = [one for one in vars(cancer_page).values() if isinstance(one, PaidAction)]
    panels = [cancer_page.goal_panel.one, *vars(cancer_page).values()]
    panels = [one for one in panels if isinstance(one, PaidPanel)]
    assert {panel.action for panel in panels} == {*actions}
    assert len(SELLERS) == len(actions) + 1  # the audit is free
    assert all(isinstance(panel.button, controls.OfferButton) for panel in panels)
    assert all(isinstance(panel.question.yes, controls.OfferButton) for panel in panels)


@sold_by("seller", "one model", "aggregates")
def test_a_press_for_another_table_buys_nothing(page, seller, monks):
    offer = seller.button(page).offer
    assert offer
    page.session.choose(monks)
    before, had = _spent(page), seller.result(page)
    seller.send(page, offer)
    assert _spent(page) == before and seller.result(page) == had
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
    actions = page.drawing, page.single
    texts, offers = [[repr(one.quote().plan) for one in actions]], [[one.offer for one in actions]]
    page.state.psi *= 1 + 1e-9
    texts.append([repr(one.quote().plan) for one in actions])
    offers.append([one.offer for one in actions])
    assert texts[0] == texts[1] and not set(offers[0]) & set(offers[1])


@pytest.mark.slow
@sold_by("seller", "one model", "an audit")
def test_a_press_for_other_terms_buys_nothing_and_states_the_price_of_now(page, seller):
    button = seller.button(page)
    offer, before, had = button.offer, _spent(page), seller.result(page)
    seller.change(page)
    seller.send(page, offer)
    assert _spent(page) == before and seller.result(page) == had
    assert "press again" in page.state.message
    if button is not page.fitting_panel.button:
        assert f"The price is now {price_on(button)}: press again." in page.state.message
    seller.send(page, button.offer)
    assert page.state.alert is None and seller.result(page) != had


def test_a_price_that_another_page_changed_is_stated_before_it_is_charged(page, seller):
    button = seller.button(page)
    shown, offer = price_on(button), button.offer
    with Ledger.open(page.session.ledger_to_charge()) as ledger:
        ledger.reserve(zcdp(0.05)).commit()
        before = ledger.spent()
        seller.send(page, offer)
        charged = ledger.spent() - before
    assert cost_text(charged) == shown or (charged == 0 and "press again" in page.state.message)


@sold_by("seller", *SELLERS)
def test_an_offer_is_sold_once(page, seller):
    button, before = seller.button(page), sum(_spent(page).values())
    offer = button.offer

    async def scenario():
        for _ in range(3):
            seller.send(page, offer)
        await page.wait_until_idle()
        await asyncio.sleep(0)
        tasks = [one.task.task for one in (page.single, page.aggregates)]
        for task in [*tasks, page.fitting_panel.task.task]:
            if task is not None:
                await task
        for _ in range(2):  # late messages of a triple click
            seller.send(page, offer)

    asyncio.run(scenario())
    assert seller.result(page) and page.state.alert is None
    assert sum(_spent(page).values()) == before + (button is not page.fitting_panel.button)


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


@sold_by("seller", "a set", "aggregates")
def test_the_offer_on_the_button_is_never_older_than_what_is_sold(page, seller):
    """Otherwise every press would be refused."""
    button, panel = seller.button(page), seller.panel(page)
    changes = {"max_leaves": 3, "leaf_penalty": 0.1, "delta": 1e-5, "radius": 3.0, "goal": "set"}
    changes |= {"budget_epsilon": 9.0, "n_draws": 5, "family": "trees"}
    for name, value in {**changes, "page": "data", "view": "release"}.items():
        setattr(page.state, name, value)
        assert button.offer == panel.action.offer, name


def test_yes_answers_the_question_that_it_shows(cancer_page):
    page, panel = cancer_page, cancer_page.basket_panel
    _tick(page)
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
        assert page.state.phase == "simulating"
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
        assert page.state.phase != "simulating"
        await page.wait_until_idle()

    asyncio.run(scenario())
    assert page.rashomon_set is None and "press again" in page.state.message
