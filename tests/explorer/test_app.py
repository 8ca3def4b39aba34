"""The dashboard as an object: in a notebook cell, in a script, and every number in Python."""

import asyncio
import re
from unittest.mock import Mock

import plotly.io as pio
import pytest
from plotly.offline import get_plotlyjs

from rashomon_explorer._utils import formatting
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer import Explorer, app
from rashomon_explorer.explorer.messages import LOGGER
from rashomon_explorer.explorer.panels.data import OWN_FILE
from rashomon_explorer.explorer.session import DEMO_VARIABLE, HOME_VARIABLE
from rashomon_explorer.plots import plot_losses, text
from tests.explorer.pages import evaluated, press, set_state


@pytest.mark.slow
def test_every_number_of_the_panels_is_a_line_of_python(cancer_page):
    page = cancer_page
    set_state(page, radius=4.0, ridge=0.0, n_draws=20, mechanism="exact")
    page.draw()
    bound, alone, beta, excess, adds = (evaluated([line], page) for line in page.plan_panel.lines())
    # One price: what the draw adds to the ledger. What it would cost alone is named as such.
    facts = page.plan_panel.facts.value
    assert adds < alone and f"{text.cost_text(adds)}</dd>" in facts
    for words in (text.at_least(bound), text.number(beta), text.at_most(excess)):
        assert words in facts
    n_draws, epsilon, hit_rate, minimum, worst, clipped = (
        evaluated([line], page) for line in page.numbers_panel.lines()
    )
    expected = [str(n_draws), text.cost_text(epsilon), text.percent(hit_rate)]
    expected += [text.number(minimum[0], 4), text.number(worst), text.percent(clipped)]
    for words in expected:
        assert f"{words}</dd>" in page.numbers_panel.facts.value
    budget, _, left, entries = (evaluated([line], page) for line in page.budget_panel.lines())
    assert f">{formatting.left_text(left)}</b>" in page.budget_panel.gauge.value
    assert (budget, len(entries)) == ((8.0, 1e-6), 1)
    page.data_panel.name.value = "monks1"
    assert evaluated(page.data_panel.lines(), page).name == "monks1"
    estimator = evaluated(page.model_panel.lines(), page)
    assert estimator.get_params()["epsilon"] == page.state.epsilon


@pytest.mark.slow
def test_in_a_loop_the_page_follows_the_draws_and_figures_are_drawn_when_seen(
    tmp_path, cancer, monkeypatch
):
    async def scenario():
        explorer = Explorer(data=cancer, home=tmp_path)
        monkeypatch.setattr(explorer, "_poll_ledger", looks := Mock(return_value=None))
        await asyncio.sleep(0.01)
        assert not looks.called  # a browser that loads the page would miss the change
        explorer.kernel_watch._handle_custom_msg({"kind": "alive?"}, [])
        await asyncio.sleep(0.01)
        assert looks.called
        explorer.state.psi = 0.6
        press(explorer.draw_panel)
        assert explorer.state.busy
        await explorer.wait_until_idle()
        assert explorer.state.phase == "done" and explorer.state.alert is None
        assert explorer.state.page == "set"
        assert not explorer.cards["people"].view.figure  # nobody looked
        explorer.show("people")
        await explorer.wait_until_idle()
        names = [trace["name"] for trace in explorer.cards["people"].view.figure["data"]]
        assert "best model" in names
        card, explorer.state.page = explorer.cards["budget"], "data"
        await explorer.wait_until_idle()
        card.view._receive(None, {"type": "shown"}, None)  # in a cell of its own
        await explorer.wait_until_idle()
        assert card.view.figure["data"]
        explorer.widget.close()

    asyncio.run(scenario())


@pytest.mark.slow
def test_a_newcomer_has_only_to_press_and_may_put_the_data_away(as_it_opens, tmp_path):
    explorer = Explorer(home=tmp_path)
    name = explorer.data_panel.name
    assert explorer.data.name == name.value == "lending"
    assert explorer.plan.hit_rate_bound >= 0.5 and not explorer.draw_panel.button.disabled
    for choice in ("", OWN_FILE):
        name.value = "lending"
        name.value = choice
        assert explorer.data is None and explorer.plan is None and explorer.rows is None
        assert explorer.draw_panel.button.disabled and explorer.state.alert is None
        with pytest.raises(DataError, match="choose one under Data"):
            explorer.draw()
    assert list(tmp_path.iterdir()) == []
    name.value = "lending"
    explorer.draw()
    assert explorer.rashomon_set.n_draws == 400


def test_an_unexpected_error_is_words_on_the_page_and_a_trace_in_the_log(monkeypatch, tmp_path):
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    monkeypatch.setattr(LOGGER, "handlers", [])
    explorer, again, log = Explorer(), Explorer(), tmp_path / "rashomon-explorer.log"
    assert not log.exists()
    monkeypatch.setattr(explorer.session, "choose", lambda _: 1 / 0)
    explorer.data_panel.name.value = "monks1"
    assert explorer.state.alert.reason == "division by zero"
    assert "Traceback" not in explorer.alert_panel.text.html
    written = log.read_text()
    assert written.count("ZeroDivisionError") == 1
    again.data_panel.schema.file.choose("a.csv", b"one column")
    assert again.state.alert is not None and log.read_text() == written  # explained
    for handler in LOGGER.handlers:
        handler.close()


def test_a_figure_that_fails_says_so_in_its_place(loans, monkeypatch, caplog):
    card = loans.cards["losses"]
    with monkeypatch.context() as patch:
        patch.setattr(type(card), "build", lambda *_: 1 / 0)
        card.redraw()
    (words,) = card.view.figure["layout"]["annotations"]
    assert words["text"] == "This could not be drawn."
    assert "division by zero" in card._definition_html()
    assert caplog.records
    card.redraw()


def test_explorers_of_one_notebook_know_nothing_of_each_other(loans, tmp_path):
    other, before = Explorer(home=tmp_path), loans.state.settings()
    other.state.epsilon = 2.5
    other.data_panel.name.value = "breast_cancer"
    assert loans.state.settings() == before and loans.data.name == "loans"
    loans.state.selection = (1, 2)
    assert other.state.selection == () and other.rashomon_set is None
    other.widget.close()
    loans.cards["losses"].redraw()
    assert loans.state.alert is None


@pytest.mark.slow
def test_the_html_of_a_notebook_shows_figures_and_a_line_for_the_dashboard_without_a_network(
    loans, monkeypatch
):
    nbconvert, v4 = pytest.importorskip("nbconvert"), pytest.importorskip("nbformat.v4")
    outputs = []
    monkeypatch.setattr(app, "display", lambda shown, **how: outputs.append(shown))
    loans._ipython_display_()
    words, widget = outputs
    library = pio.renderers["notebook"]
    assert library.global_init and not library.connected  # embedded once, and from no network
    shown = [library.to_mimebundle(plot_losses(loans.rashomon_set).to_dict()), words]
    shown.append(widget._repr_mimebundle_())
    cell = v4.new_code_cell(outputs=[v4.new_output("display_data", data=one) for one in shown])
    html, _ = nbconvert.HTMLExporter(template_name="basic").from_notebook_node(
        v4.new_notebook(cells=[cell])
    )
    assert "needs a running Python kernel" in html and "curator view: not private" in html
    html = html.replace(get_plotlyjs(), "")  # in which a search takes seconds
    tags = re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=.(https?:[^\"' ]+)", html)
    assert [tag for tag in tags if "/mathjax/" not in tag] == []  # no figure has a formula
    assert loans._repr_mimebundle_()["text/html"] == words["text/html"]


@pytest.fixture
def demo(monkeypatch, tmp_path):
    """A public demo: shipped tables, no files, and a folder of its own for each page."""
    monkeypatch.setenv(DEMO_VARIABLE, "1")
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))


def test_each_page_has_ledgers_of_its_own(demo, tmp_path):
    homes = {Explorer().session.home for _ in range(2)}
    assert len(homes) == 2 and {home.parent for home in homes} == {tmp_path}


def test_only_shipped_tables_are_offered(demo):
    panel = Explorer().data_panel
    names = [name for _, name in panel.name.options]
    assert {"lending", "south_german_credit"} < set(names)
    assert not {"adult", "compas", "acs_income"} & set(names)
    assert not any("your own" in label or "OpenML" in label for label, _ in panel.name.options)


def test_a_crafted_message_brings_no_file(demo):
    panel = Explorer().data_panel
    for act in (panel.schema._on_file, panel.schema._take_file, panel.openml._fetch):
        with pytest.raises(DataError, match=r"the demo .*: install the package"):
            act()
