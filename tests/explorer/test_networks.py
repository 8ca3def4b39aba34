"""The page with networks and additive models: what is charged, seen, and released."""

import numpy as np
import pytest

from rashomon_explorer import Explorer, RashomonNetworkClassifier, load_dataset
from rashomon_explorer.explorer.table_editor import TableEditor
from rashomon_explorer.networks import ReleasedNetworks
from rashomon_explorer.plots.text import cost_text
from rashomon_explorer.rows import chunk_rows
from tests.explorer.pages import price_on, redrawn, set_state, unzipped


def _rows():
    data = load_dataset("lending")
    return TableEditor("lending", data.frame.head(2_000), data.schema).data()


@pytest.fixture(scope="module", params=["network", "additive"])
def page(request, tmp_path_factory):
    explorer = Explorer(_rows(), home=tmp_path_factory.mktemp("home"))
    set_state(explorer, family=request.param, n_draws=20, page="plan")
    explorer.offered = price_on(explorer.draw_panel.button)
    explorer.draw()
    return explorer


def test_a_draw_charges_what_the_button_shows(page):
    state = page.state
    assert state.alert is None and state.phase == "done" and page.rashomon_set.n_draws == 20
    assert page.offered == cost_text(state.charged) and state.account.spent <= 1.0
    assert "No closeness is promised" in page.draw_panel.action.quote().promise
    assert "RashomonNetworkClassifier(model=" in page.model_panel.lines()[1]


def test_the_page_predicts_as_the_estimator_does(page):
    """Rows on screen are encoded without the estimator; its own encoding gives the same labels."""
    on_screen = page.rashomon_set.scores(page.rows)
    assert np.allclose(on_screen, page.estimator.predict_each(page.data.frame), atol=1e-9)


def test_every_figure_shows_the_set_or_says_why_not(page):
    for view in ("curator", "release"):
        set_state(page, view=view)
        for name, card in page.cards.items():
            title, words, traces = redrawn(card)
            assert title and "could not be" not in title + words, name
            assert traces or words, name
    set_state(page, view="curator")
    redrawn(page.cards["losses"])
    axes = page.cards["losses"].view.figure["layout"]["xaxis"]["title"]
    assert "above the best state" in str(axes)
    title, words, traces = redrawn(page.cards["shapes"])
    assert bool(traces) == (page.state.family == "additive")


def test_a_saved_set_opens_and_its_release_is_complete(page, tmp_path):
    models, number = page.rashomon_set, page.state.in_view
    page.state.family = "linear"
    page.session.open_saved(number)
    assert page.state.family != "linear" and page.state.alert is None
    assert np.array_equal(page.rashomon_set.parameters, models.parameters)
    files = unzipped(page.take_panel.bundle.fetch().content)
    assert "score.py" not in files and "likely" not in files["README.txt"].decode()
    assert "No closeness" in files["README.txt"].decode() + files["report.html"].decode()
    path = tmp_path / "models.npz"
    path.write_bytes(files["models.npz"])
    released = ReleasedNetworks.load(path)
    assert np.array_equal(released.parameters, models.parameters)
    assert "no rows were given" not in page.take_panel.curator_report.fetch().content.decode()


def test_a_fitted_network_opens_and_a_table_in_chunks_is_refused(tmp_path):
    data = _rows()
    clf = RashomonNetworkClassifier(n_draws=20, n_steps=40, schema=data.schema)
    clf.fit(data.frame, data.frame[data.schema.target.name])
    explorer = Explorer(clf, data, home=tmp_path)
    assert explorer.state.family == "network" and explorer.state.alert is None
    assert explorer.rashomon_set.n_draws == 20
    rows = chunk_rows(data.frame, target=data.schema.target.name)
    chunks = Explorer(rows, home=tmp_path, schema=data.schema)
    chunks.state.family = "additive"
    assert chunks.plan is None and "need a table in memory" in chunks.state.no_plan
    assert chunks.draw_panel.button.disabled and chunks.state.alert is None
