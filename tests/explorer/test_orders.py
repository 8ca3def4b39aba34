"""Whatever the order in which the buttons are pressed, page and ledger are right afterwards.

An act is a press of a button or what happens beside the page; some wait for what they started.
`hold` stops the sampler before its first model, so that the next acts fall into a draw; `on` lets
it go and waits until the page has settled.
"""

import asyncio
import inspect
import logging
import random
import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer.data import load_csv
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.drawing import DrawJob
from rashomon_explorer.explorer.messages import LOGGER, error_boundary
from rashomon_explorer.explorer.panels.data import OWN_FILE
from rashomon_explorer.explorer.set_store import SetStore
from rashomon_explorer.privacy import Ledger, pure
from tests.explorer.conftest import with_learnt_bounds
from tests.explorer.pages import press, set_state
from tests.patience import LONG

PYTHON = re.compile(r"Traceback|Error\b|NoneType|has no attribute|\bNone\b|Errno|<class|^'|0x")
SETTINGS = {"psi": 0.3, "n_draws": 2, "epsilon": 2.0, "mechanism": "exact", "radius": 4.0}
VIEWS = ("people", "features", "release", "data", "plan", "set")


class Visit:
    """A page in an empty folder, its tables, and what must be true of it in the end."""

    def __init__(self, home, tables):
        self.page, self.home, self.tables = Explorer(home=home), home, tables
        self.gate = threading.Event()
        self.gate.set()
        self.others, self.alerts, self.lost = [], [], {}

    async def do(self, name):
        done = ACTS[name](self)
        if inspect.isawaitable(done):
            await done
        await asyncio.sleep(0)
        alert = self.page.state.alert
        if alert is not None and alert.reason not in self.alerts:
            self.alerts.append(alert.reason)

    def set(self, **settings):
        set_state(self.page, **settings)

    def attempt(self, action, *arguments):
        """A page says in words what Python raises."""
        error_boundary(self.page.state, "Pressing", action)(*arguments)

    def load(self, data):
        self.attempt(self.page.session.choose, data)
        self.set(**SETTINGS)

    def use_own_table(self):
        """Ask for a table of one's own, and use it before there is a file."""
        self.page.data_panel.name.value = OWN_FILE
        self.page.data_panel.schema.use.click()

    def upload(self):
        file = self.page.data_panel.schema.file
        if not file.disabled:
            file.choose("more.csv", b"a,b\n1,yes\n2,no\n")

    def draw(self):
        """Press Draw where it can be pressed; the browser presses no button that is off."""
        if not self.page.draw_panel.button.disabled:
            press(self.page.draw_panel)

    async def rest(self):
        self.gate.set()
        for page in (*self.others, self.page):
            await asyncio.wait_for(page.wait_until_idle(), 60)
            for task in (page.basket_panel.action.task.task, page.goal_panel.one.action.task.task):
                if task is not None:
                    await task

    def move_threshold(self):
        self.set(psi=self.page.state.psi / 2)

    def one_model(self):
        self.set(goal="one")
        self.page.goal_panel.one.button.click()
        self.set(goal="set")

    def lose_ledger(self):
        for ledger in self.home.glob("*.ledger"):
            self.lost[ledger] = ledger.read_bytes()
            ledger.unlink()

    def spend_elsewhere(self):
        """Leave too little in the ledger, as another page would."""
        for path in self.home.glob("*.ledger"):
            with Ledger.open(path) as ledger:
                if (left := ledger.remaining) > 0.5:
                    ledger.reserve(pure(left - 0.5)).commit()

    def reload(self):
        """Close the page, draw or no draw, and open another one on the same table."""
        self.others.append(self.page)
        data = self.page.data
        self.page.widget.close()
        self.page = Explorer(home=self.home)
        if data is not None:
            self.load(data)
        self.set(**SETTINGS)


ACTS: dict[str, Callable[[Visit], Any]] = {
    "load": lambda visit: visit.load(visit.tables["loans"]),
    "load_another": lambda visit: visit.load(visit.tables["homes"]),
    "load_learnt": lambda visit: visit.load(visit.tables["learnt"]),
    "own_table": Visit.use_own_table,
    "put_away": lambda visit: visit.attempt(visit.page.session.forget),
    "upload": Visit.upload,
    "draw": Visit.draw,
    "draw_by_shortcut": lambda visit: press(visit.page.draw_panel),
    "stop": lambda visit: visit.page.draw_panel.stop.click(),
    "hold": lambda visit: visit.gate.clear(),
    "on": Visit.rest,
    "move_settings": lambda visit: visit.set(psi=0.1, n_draws=3),
    "move_threshold": Visit.move_threshold,
    # The browser drags the plan's dot until it hears that a draw has begun.
    "drag": lambda visit: setattr(
        visit.page.cards["plan"].view,
        "dragged",
        {"x": 1.5, "y": 0.5, "curve": 1, "at": len(visit.alerts)},
    ),
    "hurry": lambda visit: [visit.set(epsilon=1.0 + step / 10) for step in (*range(20), 10)],
    "raise_budget": lambda visit: visit.set(budget_epsilon=50.0),
    "release": lambda visit: visit.set(view="release"),
    "curator": lambda visit: visit.set(view="curator"),
    "pick": lambda visit: visit.set(selection=(1,)),
    "star": lambda visit: visit.page.models_panel.table.do("star", 1),
    "open_first": lambda visit: visit.attempt(visit.page.session.open_saved, 1),
    "delete": lambda visit: (
        visit.page.bar.sets.delete.click(),
        visit.page.bar.sets.question.yes.click(),
    ),
    "delete_elsewhere": lambda visit: [
        visit.page.session.set_store.delete(kept.number) for kept in visit.page.state.saved_sets
    ],
    "compare": lambda visit: [visit.page.show(figure) for figure in ("sets", "pair")],
    "look_everywhere": lambda visit: [visit.set(page=page) for page in VIEWS],
    "fill": lambda visit: setattr(visit.page.basket_panel.table, "ticked", {"mean_accuracy": 1.0}),
    "basket_of_picked": lambda visit: setattr(
        visit.page.basket_panel.which, "value", visit.page.basket_panel.which.options[-1][1]
    ),
    "ask_price": lambda visit: visit.page.basket_panel.button.click(),
    "pay": lambda visit: visit.page.basket_panel.question.yes.click(),
    "save": lambda visit: visit.page.take_panel.saver._receive(None, {"type": "asked"}, None),
    "one_model": Visit.one_model,
    "lose_ledger": Visit.lose_ledger,
    "find_ledger": lambda visit: [
        ledger.write_bytes(content) for ledger, content in visit.lost.items()
    ],
    "watch": lambda visit: visit.page._poll_ledger(None),
    "spend_elsewhere": Visit.spend_elsewhere,
    "reload": Visit.reload,
}

ORDERS: dict[str, str] = {
    "draw before there is data": "draw_by_shortcut stop save ask_price pay one_model 0",
    "draw twice at once": "load hold draw draw_by_shortcut on 1",
    "other data during a draw": "load hold draw load_another put_away on 1",
    "settings moved during a draw": "load hold draw move_settings raise_budget on draw on 2",
    "stop, then draw at once": "load hold draw stop draw_by_shortcut on draw on 2",
    "what is paid, during a draw": "load draw on fill hold draw ask_price pay one_model save on 2",
    "closed in the middle of a draw": "load hold draw reload on reload 1",
    "reloaded, then compared": "load draw on draw on reload pick compare move_threshold on 2",
    "paid for a set that was deleted": "load draw on fill ask_price delete pay on draw on 2",
    "deleted while it is paid for": "load draw on fill ask_price pay delete on draw on 3",
    "deleted on another page": "load draw on draw on delete_elsewhere compare open_first star on 2",
    "the ledger lost and found": "load draw on lose_ledger draw raise_budget fill ask_price pay "
    "one_model watch on find_ledger watch draw on 2",
    "the ledger lost, then reloaded": "load draw on lose_ledger load on find_ledger load on 1",
    "spent elsewhere before yes": "load draw on fill ask_price spend_elsewhere pay draw on 2",
    "drawn while it is paid for": "load draw on fill ask_price pay draw on 2|3",
    "learnt bounds": "load_learnt draw on fill ask_price pay save one_model release on curator 0",
    "a model picked, then another set": "load draw on draw on pick basket_of_picked fill ask_price "
    "open_first pay on 2",  # the question closes with the set that it is about
    "stars while the draws come": "load hold draw on star reload 1",
    "saved before any draw": "load save draw on save 1",
    "the release, a draw and another view at once": "load hold release draw look_everywhere on "
    "curator 1",
    "keys faster than plans, then a draw": "load hurry draw on hurry 1",
    "a draw and a drag at once": "load look_everywhere hold draw drag on drag 1",
    "yes to paying and to drawing at once": "load draw on fill ask_price hold draw pay on fill "
    "ask_price pay draw on 3|4",  # Draw may be off while the release is charged
    "a table of one's own without a file": "load own_table draw save on 0",
    "threshold moved, then released": "load draw on move_threshold pick release move_threshold "
    "look_everywhere on curator on 1",
}
"""Acts by what is wrong with their order, and how many charges there may be afterwards."""

ALERTS = {
    "draw before there is data": "choose one under Data",
    "other data during a draw": "a draw is running",
    "deleted on another page": "it was deleted, here or on another page",
    "the ledger lost and found": "Restore the file",
    "the ledger lost, then reloaded": "Restore the file",
    "spent elsewhere before yes": "remains",
    "learnt bounds": "nothing of this table can be released",
    "a table of one's own without a file": "choose a file",
}

SHARPEST = (
    "other data during a draw", "closed in the middle of a draw", "deleted while it is paid for",
    "the ledger lost and found",
)  # fmt: skip
"""Run always; the others are laws."""


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(5)
    declared = {"bounds": {"age": (18, 90), "debt": (0, 1)}, "classes": ["no", "yes"]}
    found = {}
    for name in ("loans", "homes", "learnt"):
        frame = pd.DataFrame({"age": rng.integers(18, 90, 120), "debt": rng.random(120).round(3)})
        frame["repaid"] = np.where(frame["age"] / 90 + rng.random(120) > 1, "yes", "no")
        frame.to_csv(folder / f"{name}.csv", index=False)
        if name != "learnt":
            found[name] = load_csv(folder / f"{name}.csv", target="repaid", **declared)
    found["learnt"] = with_learnt_bounds(folder / "learnt.csv")
    return found


@pytest.fixture
def do(tables, tmp_path, monkeypatch, caplog):
    """Do acts in an event loop, on a page in an empty folder; no error may be logged."""
    run = DrawJob.run

    async def visited(acts):
        visit = Visit(tmp_path, tables)
        monkeypatch.setattr(DrawJob, "run", lambda job: (visit.gate.wait(LONG), run(job)))
        for name in [*acts, "on"]:
            await visit.do(name)
        _check(visit)
        for page in (visit.page, *visit.others):
            page.widget.close()
        return visit

    yield lambda acts: asyncio.run(visited(acts))
    logged = [one for one in caplog.get_records("call") if one.name == LOGGER.name]
    assert [one for one in logged if one.levelno >= logging.ERROR] == []


@pytest.mark.parametrize(
    "wrong", [pytest.param(one, marks=() if one in SHARPEST else pytest.mark.law) for one in ORDERS]
)
def test_in_the_wrong_order_page_and_ledger_stay_right(wrong, do):
    *acts, charges = ORDERS[wrong].split()
    visit = do(acts)
    assert wrong not in ALERTS or any(ALERTS[wrong] in told for told in visit.alerts)
    entries = []
    for path in visit.home.glob("*.ledger"):
        with Ledger.open(path) as ledger:
            entries += ledger.entries()
    assert all(entry.state == "committed" for entry in entries)
    assert str(len(entries)) in charges.split("|")


@pytest.mark.law
@pytest.mark.filterwarnings("default::rashomon_explorer.exceptions.LedgerWarning")  # ledger lost
@pytest.mark.parametrize("seed", range(8))
def test_in_any_order_page_and_ledger_stay_right(seed, do):
    acts = random.Random(seed).choices(sorted(ACTS), k=40)
    do(["load", *acts, "find_ledger"])


def _check(visit):
    """Say what must be true of any page that has come to rest."""
    page, state = visit.page, visit.page.state
    assert not state.busy
    for told in visit.alerts:
        assert not PYTHON.search(told), told
    for path in visit.home.glob("*.ledger"):
        with Ledger.open(path) as ledger:
            assert ledger.spent() <= ledger.budget[0] * (1 + 1e-9)
            assert all(entry.counts for entry in ledger.entries())
            kept = SetStore(path).all()
            assert len({one.number for one in kept}) == len(kept) <= len(ledger.entries())
    if page.ledger is not None and page.ledger.path.exists():
        page._poll_ledger(None)
        assert state.account.spent == page.ledger.spent()
        assert len(state.account.charges) == len(page.ledger.entries())
    models = page.rashomon_set
    if state.in_view:
        stored = page.session.set_store
        if state.in_view in [one.number for one in stored.all()]:
            assert np.array_equal(stored.open(state.in_view).coef, models.coef)
        assert state.in_view in [one.number for one in state.saved_sets]
    if models is None:
        assert not state.releases
    else:
        assert all(0 <= draw < models.n_draws for draw in state.selection)
        assert state.drawn_settings["n_draws"] >= models.n_draws
        for bought in state.releases:
            assert bought.released.charge in [entry.id for entry in page.ledger.entries()]
    for card in page.cards.values():
        assert "could not be drawn" not in str(card.view.figure.get("layout", {}))
