"""Whatever the order in which the buttons are pressed, page and ledger are right afterwards."""

import asyncio
import logging
import random
import re

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer.data import load_csv
from rashomon_explorer.explorer import Explorer, app
from rashomon_explorer.explorer.drawing import DrawJob
from rashomon_explorer.explorer.messages import LOGGER
from rashomon_explorer.explorer.set_store import SetStore
from rashomon_explorer.privacy import Ledger
from tests.explorer.orders import ACTS, ORDERS, Visit
from tests.patience import LONG

PYTHON = re.compile(r"Traceback|Error\b|NoneType|has no attribute|\bNone\b|Errno|<class|^'|0x")

WORDS = {
    "draw before there is data": "choose one under Data",
    "draw twice at once": "a draw is running",
    "other data during a draw": "a draw is running",
    "deleted on another page": "it was deleted, here or on another page",
    "the ledger lost and found": "Restore the file",
    "the ledger lost, then reloaded": "Restore the file",
    "spent elsewhere before yes": "remains",
    "learnt bounds": "nothing of this table can be released",
    "a table of one's own without a file": "choose a file",
    "other data and a draw at once": "a draw is running",
}
"""What is said in the alert, where something is refused."""

CHARGES = {
    "draw twice at once": 1,
    "other data during a draw": 1,
    "settings moved during a draw": 2,
    "stop, then draw at once": 2,
    "what is paid, during a draw": 2,
    "closed in the middle of a draw": 1,
    "paid for a set that was deleted": 2,
    "deleted while it is paid for": 3,
    "the ledger lost and found": 2,
    "spent elsewhere before yes": 2,
    "drawn while it is paid for": 3,
    "learnt bounds": 0,
    "saved before any draw": 1,
    "the release, a draw and another view at once": 1,
    "keys faster than plans, then a draw": 1,
    "a draw and a drag at once": 1,
    "yes to paying and to drawing at once": 4,
    "a bundle twice, then the release": 1,
    "other data and a draw at once": 1,
    "two kept sets at once": 2,
}
"""How many charges there must be in the ledger afterwards."""


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(5)
    found = {}
    for name in ("loans", "homes", "learnt"):
        frame = pd.DataFrame({"age": rng.integers(18, 90, 120), "debt": rng.random(120).round(3)})
        frame["repaid"] = np.where(frame["age"] / 90 + rng.random(120) > 1, "yes", "no")
        frame.to_csv(folder / f"{name}.csv", index=False)
        asked = {"bounds": {"age": (18, 90), "debt": (0, 1)}, "classes": ["no", "yes"]}
        if name == "learnt":
            with pytest.warns(UserWarning, match="computed from the rows"):
                found[name] = load_csv(folder / "learnt.csv", target="repaid", learn_bounds=True)
        else:
            found[name] = load_csv(folder / f"{name}.csv", target="repaid", **asked)
    return found


@pytest.fixture
def do(tables, tmp_path, monkeypatch):
    """Do acts in an event loop, on a page in an empty folder."""
    monkeypatch.setattr(app, "FIRST_DATA", "")
    run = DrawJob.run

    async def visited(acts):
        visit = Visit(Explorer(home=tmp_path), tmp_path, tables)
        monkeypatch.setattr(DrawJob, "run", lambda job: (visit.gate.wait(LONG), run(job)))
        for name in [*acts, "on"]:
            await visit.do(name)
        _check(visit)
        for page in (visit.page, *visit.others):
            page.widget.close()
        return visit

    return lambda acts: asyncio.run(visited(acts))


SHARPEST = (
    "other data during a draw",
    "closed in the middle of a draw",
    "deleted while it is paid for",
    "the ledger lost and found",
)
"""Run always; the others are laws."""


@pytest.mark.parametrize(
    "wrong",
    [pytest.param(one, marks=() if one in SHARPEST else pytest.mark.law) for one in ORDERS],
)
def test_in_the_wrong_order_page_and_ledger_stay_right(wrong, do, caplog):
    visit = do(ORDERS[wrong].split())
    assert wrong not in WORDS or any(WORDS[wrong] in told for told in visit.alerts)
    entries = _entries(visit)
    assert all(entry.state == "committed" for entry in entries)
    assert len(entries) == CHARGES.get(wrong, len(entries))
    assert _errors(caplog) == []


@pytest.mark.law
@pytest.mark.filterwarnings("default::rashomon_explorer.exceptions.LedgerWarning")  # ledger lost
@pytest.mark.parametrize("seed", range(8))
def test_in_any_order_page_and_ledger_stay_right(seed, do, caplog):
    acts = random.Random(seed).choices(sorted(ACTS), k=40)
    do(["load", *acts, "find_ledger"])
    assert _errors(caplog) == []


def _errors(caplog):
    found = [one for one in caplog.records if one.name == LOGGER.name]
    return [(one.getMessage(), one.exc_info) for one in found if one.levelno >= logging.ERROR]


def _entries(visit):
    found = []
    for path in visit.home.glob("*.ledger"):
        with Ledger.open(path) as ledger:
            found += ledger.entries()
    return found


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
        visit.page._look(None)
        assert state.account.spent == page.ledger.spent()
        assert len(state.account.charges) == len(page.ledger.entries())
    models = page.rashomon_set
    if state.in_view:
        stored = page.session.set_store
        if state.in_view in [one.number for one in stored.all()]:
            assert np.array_equal(stored.open(state.in_view).coef, models.coef)
        assert state.in_view in [one.number for one in state.kept]
    if models is not None:
        assert all(0 <= draw < models.n_draws for draw in state.selection)
        assert state.drawn_settings["n_draws"] >= models.n_draws
        for bought in state.paid:
            ids = [entry.id for entry in page.ledger.entries()]
            assert bought.released.charge in ids
    else:
        assert not state.paid
    for card in page.cards.values():
        assert "could not be drawn" not in str(card.view.figure.get("layout", {}))
