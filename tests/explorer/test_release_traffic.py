"""In the release nothing that was computed from private rows is in what the page sends."""

import io
import json
import pickle
import re
import zipfile
from typing import Any

import ipywidgets
import numpy as np
import pandas as pd
import pytest

from rashomon_explorer.data import TableSchema
from rashomon_explorer.exceptions import CuratorOnlyError, DataError, FitError
from rashomon_explorer.explorer import Explorer, app
from rashomon_explorer.explorer.export.bundle import bundle
from rashomon_explorer.explorer.messages import report
from rashomon_explorer.explorer.panels.data import OWN_FILE
from rashomon_explorer.explorer.table.editor import TableEditor
from rashomon_explorer.plots.text import number

SENTINEL = 61.728394
WORD = "quetzal-in-a-cell"

EVERYTHING_IS_SENT = True


def _all_widgets(root: Any) -> set[ipywidgets.Widget]:
    """Every widget of a page, those behind traits included."""
    found, waiting = set(), [root]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list | tuple):
            waiting += one
        elif isinstance(one, ipywidgets.Widget) and one not in found:
            found.add(one)
            waiting += [getattr(one, name) for name in one.trait_names() if name != "comm"]
    return found


def _plain(value: Any) -> str:
    return json.dumps(
        value, ensure_ascii=False, default=lambda x: x.tolist() if hasattr(x, "tolist") else str(x)
    )


def _traffic(explorer: Any) -> str:
    """All that a browser which opened the page now would be sent."""
    states = []
    unseen = [list(view.content) for view in explorer.shell.views.values()]
    for widget in _all_widgets([explorer.widget, unseen]):
        names = set(widget.keys) - {"layout", "style", "_esm", "_css", "code", "templates"}
        states.append(_plain({name: widget.get_state(name)[name] for name in names}))
    return "\n".join(states)


def _tells(traffic: str, number: float) -> bool:
    return f"{number:.6f}"[:8] in traffic or f"{np.float32(number):.6f}"[:8] in traffic


@pytest.fixture
def told(explorer, table):
    frame = pd.read_csv(table)
    frame["debt"] = 60 + frame["debt"]
    frame.loc[0, "debt"], frame["note"] = SENTINEL, "plain"
    frame.loc[0, "note"] = WORD
    frame = frame[["age", "debt", "sex", "note", "repaid"]]
    editor = TableEditor.proposed("loans", frame).edited("sex", "role", "sensitive")
    for end, value in {"low": "50", "high": "70", "typical_low": "", "typical_high": ""}.items():
        editor = editor.edited("debt", end, value)
    editor = editor.edited("note", "kind", "anything").confirmed()
    explorer.session.choose(editor.data())
    state = explorer.state
    state.n_draws, state.mechanism, state.epsilon, state.psi = 3, "langevin", 1.0, 0.6
    explorer.draw()
    explorer.data_panel.schema.preview.value = True
    for card in explorer.cards.values():
        card._table_button.value = True
        card.redraw()
    report(state, "Releasing", FitError(f"row 1 holds {WORD}"))
    return explorer


def test_the_release_holds_no_value_of_a_row(told):
    private = {
        "a cell": lambda text: WORD in text,
        "a number": lambda text: _tells(text, SENTINEL),
        "the best loss": lambda text: f"{number(told.rashomon_set.minimum.value, 4)}</dd>" in text,
        "a draw's loss": lambda text: _tells(text, float(told.rashomon_set.losses[0])),
        "a shape": lambda text: "█" in text,
    }
    curators = _traffic(told)
    seen = {what for what, known in private.items() if known(curators)}
    assert seen >= {"a cell", "a number", "the best loss", "a shape"}  # the control
    told.numbers_panel.view.value = "release"
    sent = _traffic(told)
    assert {what for what, known in private.items() if known(sent)} == set()
    told.numbers_panel.view.value = "curator"
    assert WORD in _traffic(told)


RARE = {
    "age": 1357913.0,
    "home": "x-home",
    "salary": 2468024.0,
    "sex": "x-sex",
    "bonus": 864293.0,
    "region": "x-region",
    "code": 975319,
    "state": "x-state",
}
"""What one record holds in every role of a column, and no other record of either table."""

WORDS = ("1357913", "x-home", "2468024", "x-sex", "864293", "x-region", "975319", "x-state")
ROLES = {"salary": "sensitive", "sex": "sensitive", "bonus": "ignore", "region": "ignore"}


def _neighbour(rare: dict[str, Any]) -> pd.DataFrame:
    """A table of 200 records, one of which holds `rare`."""
    rng, n = np.random.default_rng(0), 200
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "home": rng.choice(["own", "rent"], n),
            "salary": rng.integers(20_000, 90_000, n).astype(float),
            "sex": rng.choice(["f", "m"], n),
            "bonus": rng.integers(0, 900, n).astype(float),
            "region": rng.choice(["north", "south"], n),
            "code": np.arange(n) + 7,
            "state": rng.choice(["ill", "ok"], n),
        }
    )
    for column, value in rare.items():
        frame.loc[7, column] = value
    return frame


def _lines(traffic: str) -> list[str]:
    """All that was sent but the random numbers of widgets, in an order of its own."""
    plain = re.sub(r'IPY_MODEL_[0-9a-f]+|"[0-9a-f]{32}"', "id", traffic)
    return sorted(json.dumps(json.loads(line), sort_keys=True) for line in plain.splitlines())


def _opened(home: Any, frame: pd.DataFrame) -> Any:
    """A page with a table of one's own in the form, of which nothing is confirmed."""
    explorer = Explorer(home=home)
    explorer.session.forget()
    explorer.data_panel.name.value = OWN_FILE
    explorer.data_panel.schema.propose("loans", frame)
    return explorer


def _proposed(explorer: Any) -> None:
    """Leave it at that."""


def _settings(explorer: Any) -> None:
    state = explorer.state
    if state.family == "linear":
        state.mechanism = "langevin"
    state.n_draws, state.epsilon = 3, 1.0


def _used(explorer: Any) -> None:
    """Use the table as it was proposed, draw from it without a charge, and look at all of it."""
    panel = explorer.data_panel.schema
    for column, role in {**ROLES, "code": "ignore"}.items():
        panel.form.do(column, "role", role)
    panel.use.click()
    assert explorer.data.bounds_learnt and explorer.state.alert is None
    _settings(explorer)
    explorer.draw()
    assert explorer.rashomon_set.n_draws and not explorer.guarantee.holds
    for card in explorer.cards.values():
        card._table_button.value = True
        card.redraw()


def _used_for_trees(explorer: Any) -> None:
    """The same with trees."""
    explorer.state.family = "trees"
    _used(explorer)


@pytest.mark.parametrize("done", [_proposed, _used, _used_for_trees])
def test_the_release_of_what_nobody_confirmed_is_the_same_for_neighbouring_tables(
    done, tmp_path, monkeypatch
):
    monkeypatch.setattr(app, "FIRST_DATA", "")
    sent = []
    for name, rare in {"with": RARE, "without": {}}.items():
        explorer = _opened(tmp_path / name, _neighbour(rare))
        done(explorer)
        curators = _traffic(explorer)
        if rare:
            assert {word for word in WORDS if word in curators} >= {"x-home", "x-sex", "x-region"}
        explorer.numbers_panel.view.value = "release"
        sent.append(_traffic(explorer))
        with pytest.raises((CuratorOnlyError, DataError)):
            explorer.aggregates.contents()
        explorer.numbers_panel.view.value = "curator"
        assert not rare or "x-sex" in _traffic(explorer)  # it comes back
    assert [word for word in WORDS if word in sent[0]] == []
    assert _lines(sent[0]) == _lines(sent[1])


def _fit_confirmed(home: Any, rare: dict[str, Any]) -> Any:
    """A page whose features and target are declared; columns that no model sees are not."""
    hidden = {column: rare[column] for column in (*ROLES, "code") if column in rare}
    table = TableEditor.proposed("loans", _neighbour(hidden))
    edits = [
        *((column, "role", role) for column, role in ROLES.items()),
        ("code", "role", "ignore"),
    ]
    edits += [("age", "low", "18"), ("age", "high", "110")]
    edits += [("age", "typical_low", "20"), ("age", "typical_high", "80")]
    for edit in edits:
        table = table.edited(*edit)
    home.mkdir()
    explorer = Explorer(data=table.confirmed("age", "home", "state").data(), home=home)
    _settings(explorer)
    explorer.draw()
    assert explorer.guarantee.holds and explorer.ledger is not None
    return explorer


def test_columns_that_no_model_sees_leave_by_their_names_alone_until_they_are_confirmed(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(app, "FIRST_DATA", "")
    hidden = [word for word in WORDS if word not in ("1357913", "x-home", "x-state")]
    pages = [_fit_confirmed(tmp_path / str(k), rare) for k, rare in enumerate((RARE, {}))]
    files = []
    for explorer in pages:
        contents = explorer.aggregates.contents()
        with zipfile.ZipFile(io.BytesIO(bundle(contents))) as archive:
            files.append({name: archive.read(name) for name in archive.namelist()})
        files[-1]["pickle"] = pickle.dumps(contents)
        assert explorer.aggregates.groups == {}
        with pytest.raises(ValueError, match="needs groups"):
            explorer.aggregates.basket(("group_sizes",), 0.5, group="sex").plan  # noqa: B018
        explorer.numbers_panel.view.value = "release"
        assert [word for word in hidden if word in _traffic(explorer)] == []
        files[-1]["form.toml"] = explorer.data_panel.schema.saver.fetch().content
    for name, content in files[0].items():
        found = [word for word in hidden if word.encode() in content]
        assert "plotly" in name or found == [], name
    same = ("schema.toml", "README.txt", "guarantee.json", "ledger.json", "definitions.json")
    assert [name for name in same if files[0][name] != files[1][name]] == []
    told = TableSchema.from_toml(files[0]["schema.toml"].decode())
    assert told.sensitive == ("salary", "sex") and told["age"].bounds == (18, 110)
    # The control: once they are confirmed, they leave.
    panel = pages[1].data_panel.schema
    assert not panel.confirm.disabled and panel.table.schema.unconfirmed == {}
    drawn = pages[1].rashomon_set
    panel.confirm.click()
    assert panel.confirm.disabled and pages[1].rashomon_set is drawn
    assert dict(pages[1].aggregates.groups) == {"sex": ("f", "m")}
    assert pages[1].aggregates.contents().schema == pages[1].data.schema == panel.table.schema


def test_an_alert_quotes_no_row_in_the_release(explorer):
    report(explorer.state, "Loading", DataError("column 'home' has level 'x-home' at row 8"))
    assert "x-home" in _traffic(explorer)
    explorer.numbers_panel.view.value = "release"
    assert "x-home" not in _traffic(explorer) and "Curator" in explorer.alert_panel.text.html
