"""The view of the table: how values lie within what is declared, and tables of OpenML."""

import asyncio
from urllib.error import URLError

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from rashomon_explorer.data import Categorical, Numeric
from rashomon_explorer.data import catalog as openml
from rashomon_explorer.explorer.panels.data import OPENML
from rashomon_explorer.plots.columns import column_table, plot_column


def test_every_row_is_counted_once_within_the_declared_bounds():
    cells = pd.Series([-5.0, 0.0, 50.0, 120.0, 900.0, np.nan])
    table = column_table(cells, Numeric("age", (0, 120)))
    assert table["rows"].sum() == 5 and table["rows"].iloc[[0, -1]].tolist() == [2, 2]
    figure = plot_column(cells, Numeric("age", (0, 120), unit="years"))
    assert "2 values beyond, counted at the ends · 1 missing" in figure.layout.title.text
    assert figure.layout.meta["view"] == "curator"
    home = Categorical("home", ["own", "rent"])
    levels = column_table(pd.Series(["own", "own", "tent", None]), home)["rows"]
    assert levels.to_dict() == {"own": 2, "rent": 0, "anything else": 1, "missing": 1}


def test_histograms_are_the_curators(explorer, cancer):
    explorer.session.choose(cancer)
    card = explorer.cards["columns"]
    assert card._column.options[0] == "mean radius"
    card._column.value = "mean texture"
    card.redraw()
    assert "mean texture" in card.view.figure["layout"]["title"]["text"]
    explorer.state.view = "release"
    card.redraw()
    assert not card.view.figure["data"] and not card.lines


def _fetched(**asked):
    data = pd.DataFrame(
        {"age": [20.0, 44.0, 31.0] * 20, "home": pd.Categorical(["own", "rent"] * 30)}
    )
    target = pd.Series(pd.Categorical(["no", "yes", "yes"] * 20), name="class")
    return Bunch(data=data, target=target, details={"name": "loans", "id": "31"})


def test_a_table_of_openml_is_proposed_and_its_target_is_last(explorer, monkeypatch):
    asked = []
    monkeypatch.setattr(
        openml.sklearn_datasets, "fetch_openml", lambda **said: asked.append(said) or _fetched()
    )
    panel = explorer.data_panel
    panel.name.value = OPENML
    assert panel.openml.widget.layout.display is None
    assert panel.schema.file.layout.display == "none"
    panel.openml.which.value = " 31 "
    panel.openml.fetch.click()
    assert explorer.state.alert is None and asked[0]["data_id"] == 31
    assert panel.schema.table.name == "loans-31"
    assert panel.schema.table.schema.target.name == "class"
    panel.schema.confirm.click()
    panel.schema.use.click()
    assert explorer.data.name == "loans-31" and explorer.state.alert is None


def test_without_a_network_it_says_so(explorer, monkeypatch):
    def offline(**_):
        raise URLError("no route to host")

    monkeypatch.setattr(openml.sklearn_datasets, "fetch_openml", offline)
    panel = explorer.data_panel
    panel.name.value = OPENML

    async def pressed():
        panel.openml.which.value = "credit-g"
        panel.openml.fetch.click()
        assert panel.openml.fetch.disabled
        await panel.openml.task.task

    asyncio.run(pressed())
    assert "This needs the network" in explorer.state.alert.reason
    assert "no route to host" in explorer.state.alert.reason
    assert not panel.openml.fetch.disabled
