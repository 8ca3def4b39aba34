"""Every panel and every figure of the page is a widget of its own, in a cell without the page."""

import inspect
import json
import typing

import ipywidgets
import pytest
from ipywidgets.widgets.widget import _remove_buffers
from jupyter_client.jsonutil import json_default

from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.cards import FigureCard
from rashomon_explorer.explorer.drawing import SetDraw
from rashomon_explorer.explorer.export.purchases import AggregateRelease
from rashomon_explorer.explorer.paid import PenaltyTuning, SingleModel
from rashomon_explorer.explorer.panels.basket import BasketPanel
from rashomon_explorer.explorer.panels.budget import BudgetGauge, LedgerPanel, TopBar
from rashomon_explorer.explorer.panels.card import AlertPanel, SelectionChip
from rashomon_explorer.explorer.panels.data import DataPanel
from rashomon_explorer.explorer.panels.draw import DrawPanel, GoalPanel, OneModelPanel, TuningPanel
from rashomon_explorer.explorer.panels.export import TakePanel
from rashomon_explorer.explorer.panels.models import ModelsPanel, SelectionPanel
from rashomon_explorer.explorer.panels.numbers import NumbersPanel
from rashomon_explorer.explorer.panels.people import PeopleHeadline, PeopleTable
from rashomon_explorer.explorer.panels.plan import PlanPanel
from rashomon_explorer.explorer.panels.settings import ModelPanel
from rashomon_explorer.explorer.panels.sidebar import Rail
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.plots.figures import FIGURES
from rashomon_explorer.plots.theme import new_figure

PANELS = [
    AlertPanel,
    BasketPanel,
    BudgetGauge,
    DataPanel,
    DrawPanel,
    GoalPanel,
    LedgerPanel,
    ModelPanel,
    ModelsPanel,
    NumbersPanel,
    OneModelPanel,
    PeopleHeadline,
    PeopleTable,
    PlanPanel,
    Rail,
    SelectionChip,
    SelectionPanel,
    TakePanel,
    TopBar,
    TuningPanel,
]


@pytest.fixture(scope="module")
def model(loans_page):
    """What panels and figures are made with, by the type they ask for."""
    session = loans_page.session
    return {
        ExplorerState: session.state,
        Session: session,
        AggregateRelease: AggregateRelease(session),
        SingleModel: SingleModel(session),
        PenaltyTuning: PenaltyTuning(session),
        ipywidgets.Widget: ipywidgets.HTML(),
        ModelPanel: ModelPanel(session.state),
        SetDraw: SetDraw(session),
        DrawPanel: DrawPanel(SetDraw(session)),
        GoalPanel: GoalPanel(SingleModel(session), DrawPanel(SetDraw(session))),
    }


def _made(kind, model):
    asked = typing.get_type_hints(kind.__init__)
    needed = inspect.signature(kind).parameters.values()
    return kind(*(model[asked[one.name]] for one in needed if one.default is one.empty))


def _displayed(widget):
    """Show it as a cell does: its bundle names it, and all that stands in it can be sent."""
    view = widget._repr_mimebundle_()["application/vnd.jupyter.widget-view+json"]
    assert view["model_id"] == widget.model_id
    seen, open_ = {}, [widget]
    while open_:
        one = open_.pop()
        if one.model_id not in seen:
            seen[one.model_id] = one
            open_ += _within(one)
            json.dumps(_remove_buffers(one.get_state())[0], default=json_default)
    return seen


def _within(widget):
    values = [getattr(widget, name) for name in widget.keys if name not in ("layout", "style")]
    nested = [one for value in values if isinstance(value, tuple | list) for one in value]
    return [one for one in (*values, *nested) if isinstance(one, ipywidgets.Widget)]


@pytest.mark.parametrize("kind", PANELS, ids=lambda kind: kind.__name__)
def test_a_panel_alone_is_shown_and_follows(kind, model, loans):
    panel = _made(kind, model)
    assert len(_displayed(panel.widget)) >= 2
    with loans.session.together():
        loans.state.selection, loans.state.people = (1, 4), (0,)
        loans.state.view = "release"
        loans.state.view = "curator"
        loans.state.pick_nothing()
    _displayed(panel.widget)
    assert loans.state.alert is None


def test_a_figure_that_fails_is_told_apart(model, loans, caplog):
    class Broken(FigureCard):
        def inputs(self):
            return new_figure(1 / 0)

    card = Broken(loans.session, FIGURES["losses"])
    card.redraw()
    assert "could not be drawn" in json.dumps(card.view.figure, default=str)
    assert caplog.records


def test_explorers_of_one_notebook_know_nothing_of_each_other(loans, tmp_path):
    other = Explorer(home=tmp_path)
    assert not {*_displayed(other.widget)} & {*_displayed(loans.widget)} - {_bundle(loans)}
    before = loans.state.settings()
    other.state.epsilon = 2.5
    other.data_panel.name.value = "breast_cancer"
    assert loans.state.settings() == before and loans.data.name == "loans"
    loans.state.selection = (1, 2)
    assert other.state.selection == () and other.rashomon_set is None
    other.widget.close()
    loans.cards["losses"].redraw()
    assert loans.state.alert is None


def _bundle(explorer):
    return explorer.cards["losses"].view.bundle.model_id
