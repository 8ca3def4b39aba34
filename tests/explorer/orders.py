"""What somebody does at the page, an act a function, and the wrong orders to do it in.

An act is a press of a button or what happens beside the page; some wait for what they started.
`hold` stops the sampler before its first model, so that the next acts fall into a draw; `on` lets
it go and waits until the page has settled.
"""

import asyncio
import inspect
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.messages import error_boundary
from rashomon_explorer.explorer.panels.data import OWN_FILE
from rashomon_explorer.privacy import Ledger, pure
from tests.explorer.pressing import press

ACTS: dict[str, Callable[["Visit"], Any]] = {}

SETTINGS = {"psi": 0.3, "n_draws": 2, "epsilon": 2.0, "mechanism": "exact", "radius": 4.0}


class Visit:
    """A page in an empty folder, its tables, and what must be true of it in the end."""

    def __init__(self, page: Explorer, home: Path, tables: dict[str, Any]) -> None:
        self.page, self.home, self.tables = page, home, tables
        self.gate = threading.Event()
        self.gate.set()
        self.others: list[Explorer] = []
        self.taken_away: dict[Path, bytes] = {}
        self.alerts: list[str] = []

    async def do(self, name: str) -> None:
        done = ACTS[name](self)
        if inspect.isawaitable(done):
            await done
        await asyncio.sleep(0)
        self._note()

    def load(self, name: str) -> None:
        session = self.page.session
        error_boundary(self.page.state, "Loading", session.choose)(self.tables[name])
        for setting, value in SETTINGS.items():
            setattr(self.page.state, setting, value)

    def _note(self) -> None:
        alert = self.page.state.alert
        if alert is not None and alert.reason not in self.alerts:
            self.alerts.append(alert.reason)


def act(do: Callable[[Visit], Any]) -> Callable[[Visit], Any]:
    """Enter an act under its function's name."""
    ACTS[do.__name__] = do
    return do


@act
def load(visit: Visit) -> None:
    visit.load("loans")


@act
def load_another(visit: Visit) -> None:
    visit.load("homes")


@act
def load_learnt(visit: Visit) -> None:
    visit.load("learnt")


@act
def own_table(visit: Visit) -> None:
    """Ask for a table of one's own, and use it before there is a file."""
    visit.page.data_panel.name.value = OWN_FILE
    visit.page.data_panel.schema.use.click()


@act
def put_away(visit: Visit) -> None:
    error_boundary(visit.page.state, "Loading", visit.page.session.forget)()


@act
def upload(visit: Visit) -> None:
    file = visit.page.data_panel.schema.file
    if not file.disabled:
        file.choose("more.csv", b"a,b\n1,yes\n2,no\n")


@act
def draw(visit: Visit) -> None:
    """Press Draw where it can be pressed; the browser presses no button that is off."""
    if not visit.page.draw_panel.button.disabled:
        press(visit.page.draw_panel)


@act
def draw_by_shortcut(visit: Visit) -> None:
    """Press it all the same."""
    press(visit.page.draw_panel)


@act
def stop(visit: Visit) -> None:
    visit.page.draw_panel.stop.click()


@act
def hold(visit: Visit) -> None:
    visit.gate.clear()


@act
async def on(visit: Visit) -> None:
    visit.gate.set()
    for page in (*visit.others, visit.page):
        await asyncio.wait_for(page.wait_until_idle(), 60)
        for task in (page.basket_panel.action.task.task, page.goal_panel.one.action.task.task):
            if task is not None:
                await task


@act
def move_settings(visit: Visit) -> None:
    visit.page.state.psi, visit.page.state.n_draws = 0.1, 3


@act
def move_threshold(visit: Visit) -> None:
    dial = visit.page.cards["losses"].threshold.dial
    dial.value = (dial.low + dial.high) / 2


@act
def drag(visit: Visit) -> None:
    """Drag the plan's dot; the browser does so until it hears that a draw has begun."""
    at = len(visit.alerts)
    visit.page.cards["plan"].view.dragged = {"x": 1.5, "y": 0.5, "curve": 1, "at": at}


@act
def hurry(visit: Visit) -> None:
    """Move a slider by more keys than plans can follow."""
    for step in range(20):
        visit.page.state.epsilon = 1.0 + step / 10
    visit.page.state.epsilon = SETTINGS["epsilon"]


@act
def raise_budget(visit: Visit) -> None:
    visit.page.state.budget_epsilon = 50.0


@act
def release(visit: Visit) -> None:
    visit.page.state.view = "release"


@act
def curator(visit: Visit) -> None:
    visit.page.state.view = "curator"


@act
def pick(visit: Visit) -> None:
    visit.page.state.selection = (1,)


@act
def star(visit: Visit) -> None:
    visit.page.models_panel.table.edit = {"kind": "star", "draw": 1, "at": len(visit.alerts)}


@act
def open_first(visit: Visit) -> None:
    error_boundary(visit.page.state, "Opening", visit.page.session.open_saved)(1)


@act
def open_two(visit: Visit) -> None:
    """Choose two kept sets, one right after the other."""
    for number in (1, 2, 1):
        error_boundary(visit.page.state, "Opening", visit.page.session.open_saved)(number)


@act
def delete(visit: Visit) -> None:
    visit.page.bar.sets.delete.click()
    visit.page.bar.sets.sure.click()


@act
def delete_elsewhere(visit: Visit) -> None:
    """Delete every set as another page would."""
    for kept in visit.page.state.kept:
        visit.page.session.set_store.delete(kept.number)


@act
def compare(visit: Visit) -> None:
    visit.page.show("sets")
    visit.page.show("pair")


@act
def look_everywhere(visit: Visit) -> None:
    """Turn to every view in turn."""
    for page in ("people", "features", "release", "data", "plan", "set"):
        visit.page.state.page = page


@act
def fill(visit: Visit) -> None:
    visit.page.basket_panel.table.ticked = {"mean_accuracy": 1.0}


@act
def basket_of_picked(visit: Visit) -> None:
    visit.page.basket_panel.which.value = visit.page.basket_panel.which.options[-1][1]


@act
def ask_price(visit: Visit) -> None:
    visit.page.basket_panel.button.click()


@act
def pay(visit: Visit) -> None:
    visit.page.basket_panel.question.yes.click()


@act
def save(visit: Visit) -> None:
    visit.page.take_panel.saver._receive(None, {"type": "asked"}, None)


@act
def one_model(visit: Visit) -> None:
    visit.page.state.goal = "one"
    visit.page.goal_panel.one.button.click()
    visit.page.state.goal = "set"


@act
def lose_ledger(visit: Visit) -> None:
    for ledger in visit.home.glob("*.ledger"):
        visit.taken_away[ledger] = ledger.read_bytes()
        ledger.unlink()


@act
def find_ledger(visit: Visit) -> None:
    for ledger, content in visit.taken_away.items():
        ledger.write_bytes(content)


@act
def watch(visit: Visit) -> None:
    """Do what the page does every two seconds."""
    visit.page._look(None)


@act
async def spend_elsewhere(visit: Visit) -> None:
    """Leave too little in the ledger, as another page would."""
    for path in visit.home.glob("*.ledger"):
        with Ledger.open(path) as ledger:
            left = ledger.remaining
            if left > 0.5:
                ledger.reserve(pure(left - 0.5)).commit()


@act
async def reload(visit: Visit) -> None:
    """Close the page, draw or no draw, and open another one on the same table."""
    visit.others.append(visit.page)
    data = visit.page.data
    visit.page.widget.close()
    visit.page = Explorer(home=visit.home)
    if data is not None:  # a page says in words what Python raises: that a ledger is lost
        error_boundary(visit.page.state, "Loading", visit.page.session.choose)(data)
    for setting, value in SETTINGS.items():
        setattr(visit.page.state, setting, value)


ORDERS: dict[str, str] = {
    "draw before there is data": "draw_by_shortcut stop save ask_price pay one_model",
    "draw twice at once": "load hold draw draw_by_shortcut on",
    "other data during a draw": "load hold draw load_another put_away on",
    "a file during a draw": "load hold draw upload on upload",
    "settings moved during a draw": "load hold draw move_settings raise_budget on draw on",
    "stop, then draw at once": "load hold draw stop draw_by_shortcut on draw on",
    "stop with nothing to stop": "load stop draw on stop stop",
    "the release during a draw": "load hold draw release look_everywhere on curator",
    "what is paid, during a draw": "load draw on fill hold draw ask_price pay one_model save on",
    "closed in the middle of a draw": "load hold draw reload on reload",
    "reloaded, then compared": "load draw on draw on reload pick compare move_threshold on",
    "paid for a set that was deleted": "load draw on fill ask_price delete pay on draw on",
    "deleted while it is paid for": "load draw on fill ask_price pay delete on draw on",
    "deleted on another page": "load draw on draw on delete_elsewhere compare open_first star on",
    "the ledger lost and found": "load draw on lose_ledger draw raise_budget fill ask_price pay "
    "one_model watch on find_ledger watch draw on",
    "the ledger lost, then reloaded": "load draw on lose_ledger load on find_ledger load on",
    "spent elsewhere before yes": "load draw on fill ask_price spend_elsewhere pay draw on",
    "drawn while it is paid for": "load draw on fill ask_price pay draw on",
    "learnt bounds": "load_learnt draw on fill ask_price pay save one_model release on curator on",
    "a model picked, then another set": "load draw on draw on pick basket_of_picked fill ask_price "
    "open_first pay on",
    "stars while the draws come": "load hold draw on star reload",
    "saved before any draw": "load save draw on save",
    "the release, a draw and another view at once": "load hold release draw look_everywhere on "
    "curator",
    "keys faster than plans, then a draw": "load hurry draw on hurry",
    "a draw and a drag at once": "load look_everywhere hold draw drag on drag",
    "yes to paying and to drawing at once": "load draw on fill ask_price hold draw pay on fill "
    "ask_price pay draw on",
    "a bundle twice, then the release": "load draw on save save release on save curator on",
    "other data and a draw at once": "load load_another draw_by_shortcut load on",
    "a table of one's own without a file": "load own_table draw save on",
    "two kept sets at once": "load draw on draw on open_two pick save on",
    "threshold moved, then released": "load draw on move_threshold pick release move_threshold "
    "look_everywhere on curator on",
}
"""What is done, by what is wrong with it: names of acts."""
