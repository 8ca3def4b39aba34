"""The contract of every paid action: one price, one charge, a saved result and a receipt."""

import asyncio
import re
from collections.abc import Callable
from typing import Any, NamedTuple
from unittest.mock import Mock

import pytest

from rashomon_explorer._utils.formatting import left_text
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.bundle import readme
from rashomon_explorer.plots.text import cost_text
from tests.explorer.pages import press, price_on, set_state

SMALL = {"n_draws": 4, "mechanism": "langevin", "psi": 0.2, "epsilon": 1.0}


class Action(NamedTuple):
    """How the page gets ready for an action, its panel, its result and its note in the ledger."""

    panel: Callable[[Explorer], Any]
    ready: Callable[[Explorer], object]
    result: Callable[[Explorer], Any]
    note: str
    receipt: str


def _ticked(page):
    if page.rashomon_set is None:
        set_state(page, **SMALL)
        page.draw()
    page.basket_panel.table.ticked = {"ambiguity": 1.0, "mean_accuracy": 1.0}


ACTIONS = {
    "a set": Action(
        lambda page: page.draw_panel,
        lambda page: set_state(page, **SMALL),
        lambda page: None if page.rashomon_set is None else page.rashomon_set.coef.tolist(),
        "RashomonClassifier",
        "Drew 4 models",
    ),
    "one model": Action(
        lambda page: page.goal_panel.one,
        lambda page: set_state(page, goal="one"),
        lambda page: page.state.one_model,
        "DPClassifier",
        "Made one model by",
    ),
    "a penalty": Action(
        lambda page: page.tuning_panel,
        lambda page: setattr(page.tuning_panel.many, "value", 5),
        lambda page: page.state.tuned,
        "DPBilevelSearch, 5 draws of penalties",
        "Made 5 draws of a penalty",
    ),
    "aggregates": Action(
        lambda page: page.basket_panel,
        _ticked,
        lambda page: page.state.paid,
        "release: ambiguity, mean_accuracy",
        "Released 2 numbers",
    ),
}


@pytest.fixture(params=ACTIONS)
def action(request):
    return ACTIONS[request.param]


@pytest.fixture
def page(cancer_page, action):
    action.ready(cancer_page)
    return cancer_page


def _charges(page):
    return [] if page.ledger is None else page.ledger.entries()


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


def test_a_weak_guarantee_is_confirmed_and_aggregates_always_are(page, action):
    page.state.epsilon, panel, charges = 0.05, action.panel(page), len(_charges(page))
    panel.button.click()
    assert panel.question.open and "cannot be undone" in panel.question.said.html
    panel.question.no.click()
    assert not panel.question.open and len(_charges(page)) == charges


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
        assert f"Draw {number} · 4 models · {price} ·" in page.bar.sets.choice.label
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
    """Beside the button, for every action; where they agree, there is nothing to say."""
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
