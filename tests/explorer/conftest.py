"""Small data sets and an explorer in an empty folder."""

import comm
import ipywidgets
import numpy as np
import pandas as pd
import pytest

from rashomon_explorer.data import (
    Categorical,
    IgnoredColumn,
    Numeric,
    TableSchema,
    load_csv,
    load_dataset,
)
from rashomon_explorer.data.bunch import make_bunch
from rashomon_explorer.explorer import Explorer, app
from rashomon_explorer.explorer import dataset as opening
from rashomon_explorer.explorer.state import ExplorerState


@pytest.fixture(scope="module", autouse=True)
def nobody_listens(request):
    """Write down for no browser what a new widget is: there is none, and pages have hundreds.

    What is sent afterwards is written down as ever; a module with `EVERYTHING_IS_SENT` writes down
    the first state too.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not getattr(request.module, "EVERYTHING_IS_SENT", False):
            patch.setattr(ipywidgets.Widget, "open", _opened_for_nobody)
        yield


@pytest.fixture(scope="module", autouse=True)
def opens_on_data(request):
    """Open pages on a view where no figure follows the settings, unless `OPENS_ON_PLAN`.

    They open without the 50,000 rows of the first data set.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "FIRST_DATA", "")
        if not getattr(request.module, "OPENS_ON_PLAN", False):
            patch.setitem(ExplorerState._static_immutable_initial_values, "page", "data")
        yield


def _opened_for_nobody(widget):
    if widget.comm is None:
        known = {} if widget._model_id is None else {"comm_id": widget._model_id}
        widget.comm = comm.create_comm(target_name="jupyter.widget", data={}, **known)


@pytest.fixture(scope="session")
def cancer():
    """The data set with eight of its thirty features."""
    data = load_dataset("breast_cancer")
    columns = [column for column in data.schema.columns if column.role == "target"]
    columns += [column for column in data.schema.columns if column.name in list(data.X)[:8]]
    schema = TableSchema(columns)
    text = {"name": data.name, "description": data.DESCR, "source": data.source}
    frame = data.frame[[column.name for column in columns]]
    return make_bunch(frame, schema, task=data.task, positive=data.classes[1], **text)


@pytest.fixture(scope="module")
def page_of_the_module(tmp_path_factory):
    """One page for all tests of a module: use `explorer`."""
    return Explorer(home=tmp_path_factory.mktemp("home"))


@pytest.fixture
def explorer(page_of_the_module, tmp_path):
    """The module's page, as it opens but for its view: an empty folder, no table, first settings.

    A page has hundreds of widgets, and to make them takes longer than most tests.
    """
    page = page_of_the_module
    _forget_requests(page)
    page.session.home = tmp_path
    page.session._ledgers_seen.clear()
    page.drawing._infeasible.clear()
    page.state.phase = "empty"
    page.session.forget()
    with page.session.together(), page.state.hold_trait_notifications():
        for name, trait in page.state.traits().items():
            if name not in ("data", "table_number", "set_number"):
                setattr(page.state, name, trait.default(page.state))
        page.state.page = "data"  # where no figure follows the settings
    page.session.forget()
    page.data_panel.name.value = ""
    page.data_panel.schema.edit(None)
    page.basket_panel.epsilon.value, page.basket_panel.table.ticked = 0.5, {}
    return page


def _forget_requests(page):
    """Draw no more what an earlier test asked for by its name."""
    for card in page.cards._made.values():
        card.requested = False


@pytest.fixture
def cancer_page(explorer, cancer):
    """The explorer with one of the data sets."""
    explorer.session.choose(cancer)
    return explorer


@pytest.fixture
def table(tmp_path):
    """A CSV file of 200 rows with a number, a sensitive column and a target."""
    rng = np.random.default_rng(5)
    age = rng.integers(18, 90, 200)
    frame = pd.DataFrame({"age": age, "debt": rng.uniform(0, 1, 200).round(3)})
    frame["sex"] = np.where(rng.random(200) < 0.5, "f", "m")
    frame["repaid"] = np.where(age / 90 + rng.normal(0, 0.3, 200) > frame["debt"], "yes", "no")
    path = tmp_path / "loans.csv"
    frame.to_csv(path, index=False)
    return path


def with_learnt_bounds(path, *declared):
    """Load a table with declared columns; the range of every other one is read off the rows."""
    frame, columns = pd.read_csv(path), [IgnoredColumn("repaid", role="target"), *declared]
    for name in frame.columns.difference([column.name for column in columns], sort=False):
        bounds = frame[name].min(), frame[name].max()
        columns.append(Numeric(name, bounds, missing="refuse", learnt=["bounds"]))
    with pytest.warns(UserWarning, match="computed from the rows"):
        return load_csv(path, schema=TableSchema(columns).in_order(list(frame)))


SEX = IgnoredColumn("sex", role="sensitive")


@pytest.fixture
def learnt(table):
    return with_learnt_bounds(table, SEX)


@pytest.fixture(scope="session")
def loans_page(tmp_path_factory):
    """An explorer with models of a small table, drawn once: use `loans`."""
    home, rng = tmp_path_factory.mktemp("home"), np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 200), "debt": rng.uniform(0, 1, 200)})
    frame["home"] = rng.choice(["own", "rent", "other"], 200)
    frame["sex"] = np.where(rng.random(200) < 0.5, "f", "m")
    frame["repaid"] = np.where(frame["age"] / 90 + rng.normal(0, 0.3, 200) > frame["debt"], 1, 0)
    frame.to_csv(home / "loans.csv", index=False)
    levels = Categorical("home", ["own", "rent", "other"], missing="refuse", unknown="refuse")
    data = with_learnt_bounds(home / "loans.csv", SEX, levels)
    explorer = Explorer(data=data, home=home)
    for name, value in {"psi": 0.3, "n_draws": 12, "mechanism": "hit_and_run"}.items():
        setattr(explorer.state, name, value)
    explorer.draw()
    return explorer


@pytest.fixture
def loans(loans_page):
    """Models of a small table on screen, with nothing picked; what a test changes is undone."""
    models, rows = loans_page.rashomon_set, loans_page.session.rows
    yield loans_page
    _forget_requests(loans_page)
    with loans_page.session.together():
        loans_page.session.rows = rows
        loans_page.state.page, loans_page.state.view = "plan", "curator"
        loans_page.state.rashomon_set = models
        loans_page.state.clear_selection()


@pytest.fixture
def as_it_opens(monkeypatch):
    """For tests of the settings that a data set is opened with, the first one included."""
    monkeypatch.setattr(app, "FIRST_DATA", "lending")


@pytest.fixture(autouse=True)
def opens_with_exact_draws(request, monkeypatch):
    """Open every data set with twenty exact draws, unless a test is about what it opens with."""
    if "as_it_opens" in request.fixturenames:
        return

    def exactly(task, planned):
        many = opening._MANY[task]
        return {**many, "mechanism": "exact", "n_draws": 20}

    monkeypatch.setattr("rashomon_explorer.explorer.dataset.default_settings", exactly)
    monkeypatch.setattr(ExplorerState.epsilon, "default_value", 4.0)
    monkeypatch.setitem(ExplorerState._static_immutable_initial_values, "epsilon", 4.0)
