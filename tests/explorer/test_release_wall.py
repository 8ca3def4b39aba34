"""The release view is a wall: nothing that was read off rows is sent from the switch on.

Whatever is computed at the switch belongs to the view of before, and is dropped. A new figure is
tried by its name alone.
"""

import asyncio
import inspect
import json
import re
import threading
from dataclasses import replace

import ipywidgets
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from rashomon_explorer import exceptions
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.cards.base import FigureCard
from rashomon_explorer.explorer.messages import report
from rashomon_explorer.explorer.panels.data import OWN_FILE
from rashomon_explorer.explorer.state import PAGES, Alert, Epoch, ExplorerState
from rashomon_explorer.explorer.table_editor import TableEditor
from rashomon_explorer.plots.figures import FIGURES
from tests.explorer.pages import set_state
from tests.explorer.test_release_traffic import LOANS, _loans, _of_draws

EVERYTHING_IS_SENT = True
MARK = "made for the curator of these rows"


KINDS = ("paid", "free", "trees")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return {kind: _drawn(kind, tmp_path_factory.mktemp(kind)) for kind in KINDS}


@pytest.fixture(params=["paid", "trees", pytest.param("free", marks=pytest.mark.law)])
def page(request, pages):
    """A drawn page in the curator's view, which comes back to it."""
    yield pages[request.param]
    set_state(pages[request.param], view="curator")


def _drawn(kind, home):
    page = Explorer(data=TableEditor("loans", _loans(0), LOANS).data(), home=home)
    settings = {"n_draws": 4, "psi": 0.3, "epsilon": 4.0}
    if kind == "trees":
        settings |= {"family": "trees", "max_leaves": 3}
    else:
        settings["mechanism"] = {"paid": "langevin", "free": "hit_and_run"}[kind]
    set_state(page, **settings)
    page.draw()
    assert page.state.alert is None
    return page


@pytest.fixture
def sent(monkeypatch):
    """Everything that any widget sends, as text."""
    messages = []

    def send(widget, message, buffers=None):
        raw = b"".join(bytes(one) for one in buffers or ()).decode("utf8", "ignore")
        messages.append(json.dumps(message, ensure_ascii=False, default=str) + raw)

    monkeypatch.setattr(ipywidgets.Widget, "_send", send)
    return messages


@pytest.fixture
def marked(monkeypatch):
    """Mark every figure that is made for the curator; its work waits for ``go``."""
    go, begun, next_call = threading.Event(), threading.Event(), FigureCard.next_call

    def tagged(card):
        call = next_call(card)
        if call is None or call.is_message or card.state.view == "release":
            return call

        def plot(*arguments, **named):
            figure = call.plot(*arguments, **named)
            begun.set()
            assert go.wait(60)
            return figure.update_layout(meta=MARK)

        plot.__signature__ = inspect.signature(call.plot)
        return replace(call, plot=plot, code=call.code or call.plot)

    monkeypatch.setattr(FigureCard, "next_call", tagged)
    return go, begun


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_in_work_at_the_switch_is_gone_and_never_comes(name, pages, marked, sent):
    page = pages["paid" if "linear" in FIGURES[name].families else "trees"]
    go, begun = marked
    if name not in page.cards:
        pytest.skip("for fitted models only")
    set_state(page, view="curator", page="data")  # where it is the only figure at work
    card = page.cards.placed(name)
    go.set()
    card.shown = True
    card.redraw()
    shows_private = card.view.figure["layout"].get("meta") == MARK
    assert shows_private == (not card.call.is_message)

    async def scenario():
        go.clear()
        begun.clear()
        card.changed()
        while shows_private and not begun.is_set():
            await asyncio.sleep(0.01)
        sent.clear()
        page.numbers_panel.view.value = "release"
        at_once = json.dumps(card.view.figure, default=str)
        go.set()
        for renderer in page.renderers:
            await renderer.wait_until_idle()
        await asyncio.sleep(0.05)
        return at_once

    try:
        at_once = asyncio.run(scenario())
        assert MARK not in at_once
        assert MARK not in json.dumps(card.view.figure, default=str)
        assert [one[:200] for one in sent if MARK in one] == []
        assert card._shown_for == card.epoch and card.state.view == "release"
    finally:
        card.shown = False
        _put_away(page, card)
        set_state(page, view="curator")


def _put_away(page, card):
    """Take a figure off the page: in the release every figure that was made is drawn again."""
    del page.cards._made[card.spec.name]
    for renderer in page.renderers:
        renderer.cards = tuple(other for other in renderer.cards if other is not card)


def test_the_release_waits_for_no_work_of_the_curator(pages, marked):
    page, (go, begun) = pages["paid"], marked
    set_state(page, view="curator", page="set")
    card = page.cards.placed("losses")
    card.shown = True

    async def scenario():
        card.changed()
        while not begun.is_set():
            await asyncio.sleep(0.01)
        page.numbers_panel.view.value = "release"
        for renderer in page.renderers:
            await asyncio.wait_for(renderer.wait_until_idle(), 20)  # though the work goes on
        go.set()

    try:
        asyncio.run(scenario())
        assert card.view.figure["layout"]["title"]["text"] and "Updating" not in str(
            card.view.figure
        )
    finally:
        go.set()
        card.shown = False
        set_state(page, view="curator")


@pytest.mark.law
def test_all_that_is_sent_from_the_switch_on_is_the_same_for_other_rows(tmp_path, sent):
    """Every message of every widget, with every card and panel at work at the switch."""
    told = []
    for seed in (0, 1):
        home = tmp_path / str(seed)
        home.mkdir()
        page = _of_draws(home, seed)
        cards = [page.cards.placed(name) for name in page.cards]
        set_state(page, page="people", groups=(("sex", "f"),), people=(3,), selection=(1,))

        async def scenario(page=page, cards=cards):
            for card in cards:
                card.shown = True
                card.changed()
            for renderer in page.renderers:  # each was drawn once, however long that takes
                await renderer.wait_until_idle()
            for card in cards:
                card.changed()
            await asyncio.sleep(0.4)  # some are at work, and some wait for their turn
            curators = set(map(_plain, sent))
            sent.clear()
            page.numbers_panel.view.value = "release"
            for name in PAGES:
                page.state.page = name
                await asyncio.sleep(0)
            for renderer in page.renderers:
                await renderer.wait_until_idle()
            for task in (page.people_table.task, page.people_headline.task):
                await task.wait_until_idle()
            await asyncio.sleep(0.2)
            return curators, set(map(_plain, sent))

        sent.clear()
        told.append(asyncio.run(scenario()))
    (private, released), (others_private, others_released) = told
    assert private != others_private  # the control
    assert sorted(released ^ others_released) == []
    assert len(released) > 40


def _plain(message):
    """A message without names of widgets and counts of figures."""
    return re.sub(r'IPY_MODEL_[0-9a-f]+|"(rev|since|count)": \d+|[0-9a-f]{32}', "", message)


def test_panels_of_people_are_empty_from_the_switch_on(page, sent, monkeypatch):
    set_state(page, view="curator", page="people", groups=(("sex", "f"),), people=(3,))
    table, headline = page.people_table, page.people_headline
    assert table.table.rows and table.table.note and "<li>" in headline.words.value
    go = threading.Event()
    find, words = table._find, headline.find
    task, other = table.task, headline.task

    async def scenario():
        for panel, made in ((task, find), (other, words)):
            show = table._show if panel is task else headline._show
            epoch = page.state.epoch
            assert isinstance(epoch, Epoch)
            panel.start(
                lambda made=made: (made(), go.wait(60))[0],
                lambda found, show=show, epoch=epoch: epoch == page.state.epoch and show(found),
            )
        sent.clear()
        page.numbers_panel.view.value = "release"
        assert (table.table.rows, table.table.note, table.table.picked) == ([], "", [])
        assert "<li>" not in headline.words.value
        go.set()
        for running in (task, other):
            await running.wait_until_idle()
        await asyncio.sleep(0.05)

    asyncio.run(scenario())
    assert (table.table.rows, table.table.note) == ([], "")
    assert "<li>" not in headline.words.value
    count = len(page.session.picked.rows)
    assert [one for one in sent if f"{count:,} of 60" in one or "<li>" in one] == []
    page.state.clear_selection()
    set_state(page, view="curator", page="plan")


def test_work_that_repeats_drops_a_result_of_another_table(page):
    """The results of panels go through `BackgroundTask.repeat`, which knows their epoch."""
    set_state(page, view="curator", page="people")
    shown, go = [], threading.Event()
    monkey = page.people_table.task

    async def scenario():
        task = type(monkey)("it")
        mark = task.repeat(
            page.state, [], "people", lambda: go.wait(60) and page.state.table_number, shown.append
        )
        mark()
        page.state.table_number += 1
        await asyncio.sleep(0.05)
        go.set()
        await task.wait_until_idle()
        await asyncio.sleep(0.05)
        await task.wait_until_idle()

    asyncio.run(scenario())
    assert shown == [page.state.table_number]  # once: that of before was dropped
    set_state(page, page="plan")


def test_a_report_for_curators_that_is_ready_after_the_switch_is_not_sent(page, sent):
    button = page.take_panel.curator_report
    go = threading.Event()
    make = button._prepare

    def prepare():
        made = make()
        return lambda: (go.wait(60), made())[1]

    button._prepare = prepare

    async def scenario():
        button._receive(None, {"type": "asked"}, None)
        await asyncio.sleep(0.02)
        sent.clear()
        page.numbers_panel.view.value = "release"
        go.set()
        await button._task.task

    try:
        asyncio.run(scenario())
        assert [one[:200] for one in sent if '"type": "file"' in one] == []
        assert "was not sent" in page.state.alert.reason
    finally:
        button._prepare, page.state.alert = make, None
        set_state(page, view="curator")


def test_a_figure_of_another_table_is_grey_until_it_is_drawn_again(page, cancer):
    set_state(page, view="curator", page="set")
    card, loans = page.cards["losses"], page.data
    card.redraw()
    assert "rx-outdated" not in card.widget._dom_classes
    page.session.set_status("")

    async def scenario():
        page.session.choose(cancer)
        assert "rx-outdated" in card.widget._dom_classes
        card.shown = True  # though the view offers no such card without models
        card.changed()
        for renderer in page.renderers:
            await renderer.wait_until_idle()

    card.shown = True
    asyncio.run(scenario())
    assert "rx-outdated" not in card.widget._dom_classes
    page.session.choose(loans)
    if page.rashomon_set is None:  # what was not paid for is not saved
        page.draw()


def test_lists_of_another_table_or_view_name_no_column_of_it(page, monkeypatch):
    set_state(page, view="curator", page="features")
    card = page.cards["profile"]
    card.redraw()
    pickers = {k: one for k, one in card.controls.items() if hasattr(one, "options")}
    if not any(one.options for one in pickers.values()):
        pytest.skip("no list for these models")
    monkeypatch.setattr(card, "changed", lambda: None)
    page.state.table_number += 1
    for name, one in pickers.items():
        assert tuple(one.options) == card._first_options[name]


def test_the_status_of_an_upload_keeps_how_the_file_is_written_from_the_release(tmp_path):
    page = Explorer(home=tmp_path)
    page.data_panel.name.value = OWN_FILE
    page.data_panel.schema.file.choose(
        "clinic.csv", "a,town,y\n1,Köln,no\n2,Bonn,yes\n".encode("cp1252")
    )
    assert "Windows-1252" in page.draw_panel.status.html  # the control
    page.numbers_panel.view.value = "release"
    assert "1252" not in page.draw_panel.status.html + page.draw_panel.phone_status.value
    page.numbers_panel.view.value = "curator"
    assert "Windows-1252" in page.draw_panel.status.html


@pytest.mark.parametrize(
    ("error", "is_told"),
    [
        (exceptions.CuratorOnlyError("x-rare"), True),
        (exceptions.FitError("x-rare"), False),  # what it tells the curator is a detail
        (exceptions.LedgerError("x-rare"), True),
        (exceptions.DataError("x-rare"), False),
        (exceptions.SamplerError("x-rare"), False),
        (ValueError("x-rare"), False),
        (None, False),
    ],
)
def test_only_errors_that_cannot_quote_rows_are_told_in_the_release(error, is_told, explorer):
    if error is None:
        explorer.state.alert = Alert("Something", "x-rare")
    else:
        report(explorer.state, "Something", error)
    assert "x-rare" in explorer.alert_panel.text.html
    explorer.state.view = "release"
    assert ("x-rare" in explorer.alert_panel.text.html) == is_told


def test_the_release_hides_an_audit_without_models():
    for audit in (None, object()):
        state = ExplorerState(audit=audit)
        assert not state.has_no_guarantee
        state.view = "release"
        assert state.has_no_guarantee == (audit is not None)


def test_columns_that_group_people_are_the_declared_ones_in_the_release(page):
    assert {"sex", "home"} <= set(page.session.picked.columns)
    set_state(page, view="release")
    assert page.session.picked.columns == ("sex",)


def test_distances_in_the_release_are_from_the_mean_and_not_from_the_best_model(page):
    models, panel = page.rashomon_set, page.models_panel
    if not hasattr(models, "coef"):
        pytest.skip("trees have no coefficients")
    for view, name, goal in (
        ("curator", "best", models.best),
        ("release", "mean", models.coef.mean(axis=0)),
    ):
        set_state(page, view=view)
        away = next(one for one in panel.table.columns if one["name"] == "away")
        assert away["title"].endswith(name)
        distances = np.linalg.norm(models.coef - goal, axis=1)
        assert np.frombuffer(away["values"]) == pytest.approx(distances)


def test_a_table_of_models_that_was_filled_a_moment_ago_is_emptied_at_the_switch(page):
    """During a draw it is filled once a second; not at the switch."""
    panel, state = page.models_panel, page.state
    before = state.phase
    state.phase = "drawing"
    try:
        assert any(one["curator"] for one in panel.table.columns)
        state.view = "release"
        assert not any(one["curator"] for one in panel.table.columns)
    finally:
        state.phase = before
        set_state(page, view="curator")


def test_what_the_curator_typed_and_clicked_does_not_stay_in_widgets(page):
    set_state(page, view="curator", page="set")
    card = page.cards["losses"]
    card.view.clicked = {"id": 1}
    page.models_panel.table.do("note", 1, "the ill one")
    page.numbers_panel.view.value = "release"
    assert card.view.clicked == {} and page.models_panel.table.edit == {}


@pytest.mark.slow
def test_a_model_fitted_elsewhere_is_hidden_at_the_switch(tmp_path, sent):
    frame = _loans(0)
    X, y = frame[["age", "debt"]] / [90, 1], (frame["repaid"] == "yes").astype(int)
    page = Explorer(LogisticRegression().fit(X, y), data=(X, y), home=tmp_path)
    for card in page.cards.values():
        card.redraw()
    sent.clear()
    page.numbers_panel.view.value = "release"
    for card in page.cards.values():
        assert card.view.figure["data"] == [] or not card.spec.needs, card.spec.name
