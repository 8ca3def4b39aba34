"""The dashboard as an object: in a notebook cell, in a script, and every number in Python."""

import asyncio
import subprocess
import sys

import pytest

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.messages import LOGGER
from rashomon_explorer.explorer.panels.data import OWN_FILE
from rashomon_explorer.explorer.session import HOME_VARIABLE
from rashomon_explorer.plots.text import at_least, at_most, cost_text, number, percent, what_is_left
from tests.explorer.pressing import press


def _evaluate(lines, explorer):
    space = {"explorer": explorer}
    *before, last = lines
    exec("\n".join(before), space)
    return eval(last, space)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory, cancer):
    explorer = Explorer(data=cancer, home=tmp_path_factory.mktemp("home"))
    for name, value in {"radius": 4.0, "ridge": 0.0, "n_draws": 20, "mechanism": "exact"}.items():
        setattr(explorer.state, name, value)
    explorer.draw()
    return explorer


def test_every_number_of_the_panels_is_a_line_of_python(drawn):
    drawn.state.view = "curator"
    plan = [_evaluate([line], drawn) for line in drawn.plan_panel.lines()]
    shown = drawn.plan_panel.facts.value
    assert at_least(plan[0]) in shown
    # One price: what the draw adds to the ledger. What it would cost alone is named as such.
    adds = plan[4]
    assert adds < plan[1] and f"{cost_text(adds)}</dd>" in shown
    assert f"{cost_text(plan[1])} as the only charge" in shown
    assert number(plan[2]) in shown
    assert at_most(plan[3]) in shown
    assert what_is_left(8.0 - drawn.ledger.spent() - adds) in shown
    assert f"<b>{cost_text(adds)}</b>" in drawn.draw_panel.price.value
    assert (
        f"planned <b>{cost_text(adds).removeprefix('ε = ')}</b>" in drawn.budget_panel.gauge.value
    )
    n_draws, epsilon, hit_rate, minimum, worst, clipped = (
        _evaluate([line], drawn) for line in drawn.numbers_panel.lines()
    )
    tiles = drawn.numbers_panel.facts.value
    expected = [
        n_draws,
        cost_text(epsilon),
        percent(hit_rate),
        number(minimum[0], 4),
        number(worst),
    ]
    for words in (*map(str, expected), percent(clipped)):
        assert f"{words}</dd>" in tiles
    budget, spent, left, entries = (_evaluate([line], drawn) for line in drawn.budget_panel.lines())
    gauge = drawn.budget_panel.gauge.value
    assert f">{number(spent, rounding='up')}</b>" in gauge
    assert f">{what_is_left(left)}</b>" in gauge
    assert (budget, len(entries)) == ((8.0, 1e-6), 1)


def test_data_and_model_panels_show_runnable_python(drawn):
    drawn.data_panel.name.value = "monks1"
    assert _evaluate(drawn.data_panel.lines(), drawn).name == "monks1"
    estimator = _evaluate(drawn.model_panel.lines(), drawn)
    assert estimator.get_params()["epsilon"] == drawn.state.epsilon


def test_a_figure_that_fails_says_so_in_its_place(drawn, monkeypatch):
    card = drawn.cards["plan"]
    monkeypatch.setattr(type(card), "inputs", lambda _: 1 / 0)
    card.redraw()
    words = card.view.figure["layout"]["annotations"][0]["text"]
    assert words == "This figure could not be drawn:<br>division by zero"


def test_in_a_loop_the_page_follows_the_draws(tmp_path, cancer):
    async def scenario():
        explorer = Explorer(data=cancer, home=tmp_path)
        explorer.state.psi = 0.6
        press(explorer.draw_panel)
        assert explorer.state.busy
        await explorer.wait_until_idle()
        assert explorer.state.phase == "done"
        assert explorer.state.alert is None
        assert explorer.state.page == "set"
        assert not explorer.cards["people"].view.figure  # nobody looked
        explorer.show("people")
        await explorer.wait_until_idle()
        names = [trace["name"] for trace in explorer.cards["people"].view.figure["data"]]
        assert "best model" in names
        explorer.widget.close()

    asyncio.run(scenario())


def test_a_figure_in_a_cell_of_its_own_is_drawn_when_it_is_seen(tmp_path, cancer):
    async def scenario():
        explorer = Explorer(data=cancer, home=tmp_path)
        card = explorer.cards["budget"]
        explorer.state.page = "data"
        await explorer.wait_until_idle()
        card.view._receive(None, {"type": "shown"}, None)
        await explorer.wait_until_idle()
        assert card.view.figure["data"]
        card.widget.close()
        explorer.widget.close()

    asyncio.run(scenario())


def test_two_explorers_in_one_notebook_do_not_meet(tmp_path, cancer):
    one = Explorer(data=cancer, home=tmp_path)
    two = Explorer(home=tmp_path)
    one.state.psi = 0.3
    assert two.state.psi == 0.02
    assert two.data.name == "lending"


def test_a_newcomer_has_only_to_press(tmp_path):
    explorer = Explorer(home=tmp_path)
    assert explorer.data.name == explorer.data_panel.name.value == "lending"
    assert explorer.plan.hit_rate_bound > 0.6
    assert not explorer.draw_panel.button.disabled
    explorer.draw()
    assert explorer.rashomon_set.n_draws == 20


@pytest.mark.parametrize("choice", ["", OWN_FILE])
def test_choosing_something_else_puts_the_data_away(tmp_path, choice):
    explorer = Explorer(home=tmp_path)
    explorer.data_panel.name.value = choice
    assert explorer.data is None and explorer.plan is None and explorer.rows is None
    assert explorer.draw_panel.button.disabled
    assert explorer.state.alert is None
    with pytest.raises(DataError, match="choose one under Data"):
        explorer.draw()
    assert list(tmp_path.iterdir()) == []


def test_it_shows_itself_as_the_last_line_of_a_cell(drawn):
    bundle = drawn._repr_mimebundle_()
    content = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in content


def test_starting_does_not_load_what_it_does_not_need():
    """The grammars of rfc3987 cost two seconds, Voilà's server another."""
    code = (
        "import sys; from rashomon_explorer import Explorer; Explorer();"
        "print(sorted({'rfc3987_syntax', 'nbformat', 'voila', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unexpected_error_is_words_on_the_page_and_a_trace_in_the_log(monkeypatch, tmp_path):
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    monkeypatch.setattr(LOGGER, "handlers", [])
    explorer, again = Explorer(), Explorer()
    assert not (tmp_path / "rashomon-explorer.log").exists()
    monkeypatch.setattr(explorer.session, "choose", lambda _: 1 / 0)
    explorer.data_panel.name.value = "monks1"
    assert explorer.state.alert.reason == "division by zero"
    assert "Traceback" not in explorer.alert_panel.text.html
    log = (tmp_path / "rashomon-explorer.log").read_text()
    assert log.count("ZeroDivisionError") == 1
    again.data_panel.schema.file.choose("a.csv", b"one column")
    assert again.state.alert is not None
    assert (tmp_path / "rashomon-explorer.log").read_text() == log  # explained, not unexpected
    for handler in LOGGER.handlers:
        handler.close()
