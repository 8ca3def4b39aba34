"""One contract for every figure: in each situation of the page, for curator and release."""

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from rashomon_explorer.data import Categorical, Numeric
from rashomon_explorer.exceptions import PrivacyLeakWarning
from rashomon_explorer.explorer import Explorer, html
from rashomon_explorer.explorer import table_rows as streamed
from rashomon_explorer.explorer.cards.base import NEEDS
from rashomon_explorer.explorer.views import VIEWS
from rashomon_explorer.plots import importance
from rashomon_explorer.plots.figures import FIGURES, register
from rashomon_explorer.plots.profile import column_table, plot_column
from rashomon_explorer.plots.registry import BOTH, CURATOR, FigureSpec
from rashomon_explorer.plots.theme import curator_band, new_figure, templates
from rashomon_explorer.report import report
from rashomon_explorer.sets import CuratorSet
from tests.explorer.pages import PEOPLE, chunked_page, drawn, evaluated, held_page
from tests.report.conftest import numbers_of

SITUATIONS = [
    *("no data", "no draws", "many models", "trees"),
    *(pytest.param(name, marks=pytest.mark.law) for name in ("chunked", "empty set", "one model")),
]
SUMMARIES = {"people", "person", "budget", "importance_distribution", "decomposition", "rules"}
"""Figures whose tables summarise what is drawn: they have other numbers."""


def _opened(situation, home):
    if situation == "no data":
        page = Explorer(home=home)
        page.session.forget()
        return page
    page = chunked_page(home) if situation == "chunked" else held_page(home)
    if situation == "trees":
        page.state.family, page.state.max_leaves = "trees", 3
    if situation != "no draws":
        drawn(page)
        page.state.people = (3,)
    if situation == "empty set":
        page.state.rashomon_set = page.rashomon_set.rethreshold(1e-6)
    if situation == "one model":
        page.state.rashomon_set = page.rashomon_set[[int(np.argmin(page.rashomon_set.excess))]]
    if situation == "many models":
        page.state.selection = (1, 4)
    return page


@pytest.fixture(scope="module", params=SITUATIONS)
def page(request, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streamed, "PEOPLE", PEOPLE)
        patch.setattr(importance, "RESAMPLED_TABLES", 2)
        patch.setattr(importance, "MODELS_OF_A_TABLE", 8)
        yield _opened(request.param, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module", params=["curator", "release"])
def view(request, page):
    page.state.view = request.param
    return str(request.param)


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_keeps_the_contract(page, name, view, caplog):
    card, spec = page.cards[name], FIGURES[name]
    card.redraw()
    figure = card.view.figure
    words = json.dumps(figure, default=lambda value: value.tolist(), ensure_ascii=False)
    assert "could not be drawn" not in words and not caplog.records
    assert page.state.alert is None and figure["layout"]["title"]["text"]
    # The page adds the template of its theme: a figure has no colour of a light page.
    assert "template" not in figure["layout"]
    light = templates()["light"]["layout"]["font"]["color"]
    assert light not in words
    seen = (figure["layout"].get("meta") or {}).get("view")
    if view == "release":
        assert seen not in ("curator", "none")
        values = [one.find() for one in card.call.arguments.values()]
        assert not any(isinstance(one, CuratorSet | pd.DataFrame | pd.Series) for one in values)
        assert "release" in spec.audience or not figure["data"]
        assert set(card.call.marks if isinstance(card.call.marks, tuple) else ()) <= {"paid"}
    if card.lines:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyLeakWarning)
            made = evaluated(card.lines, page)
        assert isinstance(made, go.Figure)
        names = [one.get("name") for one in figure["data"]]
        assert [one.name for one in made.data] == names
    if card.call.tabulate is not None:
        table = card.call.table()
        assert len(table)
        inside = page.rashomon_set is None or page.rashomon_set.hit_rate > 0
        if name not in SUMMARIES and figure["data"] and inside:
            drawn_numbers = {round(one, 3) for one in numbers_of(json.loads(words))}
            shown = table.apply(pd.to_numeric, errors="coerce").to_numpy(float).ravel()
            assert {round(float(np.float32(one)), 3) for one in shown} & drawn_numbers
    else:
        assert not figure["data"] or name in ("trees", "witness", "budget", "person")
    for entry in card.menu.names:
        card.menu.chosen = entry
        assert "could not be made" not in card.menu.html
        assert card.menu.html or not card.menu.enabled(entry)
    card.menu.chosen = ""


def test_every_figure_is_declared_in_full_and_every_word_defined():
    known = {name for plan in VIEWS for slot in plan.slots for name in slot}
    for name, spec in FIGURES.items():
        assert spec.definition or spec.terms, name
        assert spec.label and spec.audience in (CURATOR, BOTH), name
        assert set(spec.needs) <= set(NEEDS) and all(map(html.defined, spec.terms)), name
        assert (spec.measure is None) == (spec.result == ""), name
        assert name in known or name == "coefficient_spread"
    for word, definition in html.DEFINITIONS.items():
        assert definition.meaning and word == word.lower(), word
    told = html.table_html(pd.DataFrame({"excess": [0.1], "<b>": [1]}), "Losses")
    assert '<abbr class="rx-term" title="loss of a model above' in told and "<b>" not in told


def test_every_row_is_counted_once_within_the_declared_bounds():
    cells = pd.Series([-5.0, 0.0, 50.0, 120.0, 900.0, np.nan])
    table = column_table(cells, Numeric("age", (0, 120)))
    assert table["rows"].sum() == 5 and table["rows"].iloc[[0, -1]].tolist() == [2, 2]
    title = plot_column(cells, Numeric("age", (0, 120), unit="years")).layout.title.text
    assert "2 values beyond, counted at the ends · 1 missing" in title
    home = Categorical("home", ["own", "rent"])
    levels = column_table(pd.Series(["own", "own", "tent", None]), home)["rows"]
    assert levels.to_dict() == {"own": 2, "rent": 0, "anything else": 1, "missing": 1}


@pytest.mark.parametrize("name", ["people", "profile"])
def test_a_figure_is_of_the_people_who_were_selected_when_it_was_started(loans, name):
    """It is computed in another thread, while the selection may change."""
    card = loans.cards[name]
    whole = card.next_call()
    expected = whole.figure().to_json()
    before = card.next_call()
    loans.state.groups = (("sex", "f"),)
    control = card.next_call().figure().to_json()
    assert before.figure().to_json() == expected != control
    loans.state.groups = ()
    assert card.next_call().figure().to_json() == expected  # nor is the cache of the other people


@pytest.mark.slow
def test_the_documented_figure_is_on_page_and_report(tmp_path):
    """The measure and figure of docs/extending.md, registered by their own lines."""
    text = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
    (example,) = (one for one in re.findall(r"```python\n(.*?)```", text, re.S) if "votes" in one)
    known = {"__name__": "documented", "FigureSpec": FigureSpec, "register": register, "pd": pd}
    known |= {"new_figure": new_figure, "curator_band": curator_band}
    try:
        exec(example, known)
        page = held_page(tmp_path)
        drawn(page)
        page.show("votes")
        card, models = page.cards["votes"], page.rashomon_set
        shares = models.inside().labels(page.rows).mean(axis=0)
        assert card.shown and list(card.call.table()["share"]) == pytest.approx(list(shares))
        assert card.view.figure["data"][0]["type"] == "histogram"
        page.state.view = "release"
        assert not card.view.figure["data"]
        curators = report(models, tmp_path / "c.html", page.rows, page.targets, interactive=False)
        public = report(models.release(), tmp_path / "r.html", interactive=False)
        told = [path.read_text(encoding="utf-8") for path in (curators, public)]
        assert ["Votes of the models" in one for one in told] == [True, False]
        with pytest.raises(ValueError, match="called 'votes' already"):
            exec(example, known)
    finally:
        FIGURES.pop("votes", None)
