"""In the release nothing that was computed from private rows is in what the page sends."""

import json
import pickle
import re

import ipywidgets
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from rashomon_explorer import audit
from rashomon_explorer.data import Categorical, Numeric, TableSchema, YesNo
from rashomon_explorer.exceptions import CuratorOnlyError, DataError, FitError
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.bundle import bundle
from rashomon_explorer.explorer.messages import report
from rashomon_explorer.explorer.panels.data import OWN_FILE
from rashomon_explorer.explorer.state import PAGES
from rashomon_explorer.explorer.table_editor import TableEditor
from rashomon_explorer.plots.text import number
from tests.explorer.pages import set_state, unzipped

EVERYTHING_IS_SENT = True
SENTINEL, WORD = 61.728394, "quetzal-in-a-cell"
TAKE_SECONDS = ("class_reliance", "importance_distribution")
"""Figures that curators do not look at here; test_release_wall.py hides them with all others."""


def _plain(value):
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _traffic(explorer):
    """All that a browser which opened the page now would be sent, widgets behind traits too."""
    found, waiting = set(), [explorer.widget]
    waiting += [list(view.content) for view in explorer.shell.views.values()]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list | tuple):
            waiting += one
        elif isinstance(one, ipywidgets.Widget) and one not in found:
            found.add(one)
            waiting += [getattr(one, name) for name in one.trait_names() if name != "comm"]
    states = []
    for widget in found:
        names = set(widget.keys) - {"layout", "style", "_esm", "_css", "code", "templates"}
        state = {name: widget.get_state(name)[name] for name in names}
        states.append(json.dumps(state, ensure_ascii=False, default=_plain))
    return "\n".join(states)


def _tells(traffic, number):
    return f"{number:.6f}"[:8] in traffic or f"{np.float32(number):.6f}"[:8] in traffic


def _drawn(page):
    """Draw, and look at all of it."""
    set_state(page, n_draws=3, epsilon=1.0)
    if page.state.family == "linear":
        page.state.mechanism = "langevin"
    page.draw()
    for card in _quick(page):
        card.menu.chosen = "Table"
        card.redraw()


def _quick(page):
    return [card for name, card in page.cards.items() if name not in TAKE_SECONDS]


def test_the_release_holds_no_value_of_a_row(explorer, table):
    frame = pd.read_csv(table).assign(note="plain")[["age", "debt", "sex", "note", "repaid"]]
    frame["debt"] = 60 + frame["debt"]
    frame.loc[0, ["debt", "note"]] = SENTINEL, WORD
    editor = TableEditor.proposed("loans", frame).edited("sex", "role", "sensitive")
    for end, value in {"low": "50", "high": "70", "typical_low": "", "typical_high": ""}.items():
        editor = editor.edited("debt", end, value)
    explorer.session.choose(editor.edited("note", "kind", "anything").confirmed().data())
    explorer.state.psi = 0.6
    _drawn(explorer)
    explorer.data_panel.schema.preview.value = True
    report(explorer.state, "Releasing", FitError(f"row 1 holds {WORD}"))
    models = explorer.rashomon_set
    private = {
        "a cell": lambda text: WORD in text,
        "a number": lambda text: _tells(text, SENTINEL),
        "the best loss": lambda text: f"{number(models.minimum.value, 4)}</dd>" in text,
        "a draw's loss": lambda text: _tells(text, float(models.losses[0])),
        "a shape": lambda text: "█" in text,
    }
    curators = _traffic(explorer)
    assert {what for what, known in private.items() if known(curators)} >= {*private} - {
        "a draw's loss"
    }  # the control
    explorer.numbers_panel.view.value = "release"
    sent = _traffic(explorer)
    assert [what for what, known in private.items() if known(sent)] == []
    explorer.numbers_panel.view.value = "curator"
    assert WORD in _traffic(explorer)


NUMBERS = {"age": 1357913.0, "salary": 2468024.0, "bonus": 864293.0, "code": 975319}
RARE = {**NUMBERS, **{name: f"x-{name}" for name in ("home", "sex", "region", "state")}}
"""What one record holds in every role of a column, and no other record of either table."""

WORDS = [str(value).removesuffix(".0") for value in RARE.values()]
ROLES = {"salary": "sensitive", "sex": "sensitive", "bonus": "ignore", "region": "ignore"}
ROLES["code"] = "ignore"


def _neighbour(rare):
    """A table of 60 records, one of which holds `rare`."""
    rng, n = np.random.default_rng(0), 60
    frame = pd.DataFrame({"age": rng.integers(18, 80, n).astype(float)})
    frame["home"] = rng.choice(["own", "rent"], n)
    frame["salary"] = rng.integers(20_000, 90_000, n).astype(float)
    frame["sex"] = rng.choice(["f", "m"], n)
    frame["bonus"] = rng.integers(0, 900, n).astype(float)
    frame["region"] = rng.choice(["north", "south"], n)
    frame["code"], frame["state"] = np.arange(n) + 7, rng.choice(["ill", "ok"], n)
    for column, value in rare.items():
        frame.loc[7, column] = value
    return frame


def _lines(traffic):
    """All that was sent but the random numbers of widgets, in an order of its own."""
    plain = re.sub(r'IPY_MODEL_[0-9a-f]+|"[0-9a-f]{32}"', "id", traffic)
    return sorted(json.dumps(json.loads(line), sort_keys=True) for line in plain.splitlines())


def _use(page):
    """Use the table as it was proposed, and draw from it without a charge."""
    panel = page.data_panel.schema
    for column, role in ROLES.items():
        panel.form.do(column, "role", role)
    panel.use.click()
    assert page.data.bounds_learnt and page.state.alert is None
    _drawn(page)
    assert page.rashomon_set.n_draws and not page.guarantee.holds


@pytest.mark.parametrize("family", ["", "linear", pytest.param("trees", marks=pytest.mark.law)])
def test_the_release_of_what_nobody_confirmed_is_the_same_for_neighbouring_tables(family, tmp_path):
    """Of a table in the form, and of one that was used and drawn from."""
    sent = []
    for name, rare in {"with": RARE, "without": {}}.items():
        page = Explorer(home=tmp_path / name)
        page.session.forget()
        page.data_panel.name.value = OWN_FILE
        page.data_panel.schema.propose("loans", _neighbour(rare))
        if family:
            page.state.family = family
            _use(page)
        curators = _traffic(page)
        assert not rare or all(word in curators for word in ("x-home", "x-sex", "x-region"))
        page.numbers_panel.view.value = "release"
        sent.append(_traffic(page))
        with pytest.raises((CuratorOnlyError, DataError)):
            page.aggregates.contents()
        page.numbers_panel.view.value = "curator"
        assert not rare or "x-sex" in _traffic(page)  # it comes back
    assert [word for word in WORDS if word in sent[0]] == []
    assert _lines(sent[0]) == _lines(sent[1])


def _confirmed(home, rare):
    """A page whose features and target are declared; columns that no model sees are not."""
    hidden = {column: rare[column] for column in ROLES if column in rare}
    table = TableEditor.proposed("loans", _neighbour(hidden))
    for column, role in ROLES.items():
        table = table.edited(column, "role", role)
    ends = {"low": "18", "high": "110", "typical_low": "20", "typical_high": "80"}
    for end, value in ends.items():
        table = table.edited("age", end, value)
    home.mkdir()
    page = Explorer(data=table.confirmed("age", "home", "state").data(), home=home)
    set_state(page, n_draws=3, epsilon=1.0, mechanism="langevin")
    page.draw()
    assert page.guarantee.holds and page.ledger is not None
    return page


def test_columns_that_no_model_sees_leave_by_their_names_alone_until_they_are_confirmed(tmp_path):
    hidden = [word for word in WORDS if word not in ("1357913", "x-home", "x-state")]
    pages = [_confirmed(tmp_path / str(k), rare) for k, rare in enumerate((RARE, {}))]
    files = []
    for page in pages:
        contents = page.aggregates.contents()
        files.append(unzipped(bundle(contents)))
        assert page.aggregates.groups == {}
        with pytest.raises(ValueError, match="needs groups"):
            page.aggregates.basket(("group_sizes",), 0.5, group="sex").plan  # noqa: B018
        page.numbers_panel.view.value = "release"
        assert [word for word in hidden if word in _traffic(page)] == []
        files[-1]["pickle"] = pickle.dumps(contents)
        files[-1]["form.toml"] = page.data_panel.schema.saver.fetch().content
    for name, content in files[0].items():
        found = [word for word in hidden if word.encode() in content]
        assert "plotly" in name or found == [], name
    same = ("schema.toml", "README.txt", "guarantee.json", "ledger.json", "definitions.json")
    assert [name for name in same if files[0][name] != files[1][name]] == []
    told = TableSchema.from_toml(files[0]["schema.toml"].decode())
    assert told.sensitive == ("salary", "sex") and told["age"].bounds == (18, 110)
    page, panel = pages[1], pages[1].data_panel.schema  # the control: confirmed, they leave
    assert not panel.confirm.disabled and panel.table.schema.unconfirmed == {}
    drawn = page.rashomon_set
    panel.confirm.click()
    assert panel.confirm.disabled and page.rashomon_set is drawn
    assert dict(page.aggregates.groups) == {"sex": ("f", "m")}
    assert page.aggregates.contents().schema == page.data.schema == panel.table.schema


def _loans(seed):
    """A table of 60 people; every number of it differs from that of another seed."""
    rng, n = np.random.default_rng(seed), 60
    frame = pd.DataFrame({"age": rng.integers(18, 90, n), "debt": rng.uniform(0, 1, n)})
    frame["home"], frame["sex"] = rng.choice(["own", "rent"], n), rng.choice(["f", "m"], n)
    chance = frame["age"] / 90 + rng.normal(0, 0.3, n)
    frame["repaid"] = np.where(chance > frame["debt"], "yes", "no")
    return frame


def _of_draws(home, seed):
    page = Explorer(data=TableEditor("loans", _loans(seed), LOANS).data(), home=home)
    set_state(page, n_draws=5, mechanism="hit_and_run", psi=0.3)
    page.draw()
    return page


def _of_fitted_models(home, seed, *models):
    frame = _loans(seed)
    X, y = frame[["age", "debt"]] / [90, 1], (frame["repaid"] == "yes").astype(int)
    fitted = [model.fit(X, y) for model in models]
    return Explorer(fitted if len(fitted) > 1 else fitted[0], data=(X, y), home=home)


def _audited(home, seed, model, **settings):
    frame = _loans(seed)
    X, y = frame[["age", "debt"]] / [90, 1], frame["repaid"]
    found = audit(model.fit(X, y), X, y, groups=frame["sex"], random_state=0, **settings)
    return Explorer(found, home=home)


def _audited_here(home, seed):
    page = Explorer(data=TableEditor("loans", _loans(seed), LOANS).data(), home=home)
    before = page.state.settings(), page.plan.psi, page.plan.guarantee
    page.fitting_panel.button.click()
    assert page.state.audit.psi == page.state.audit_psi != page.state.psi
    assert before == (page.state.settings(), page.plan.psi, page.plan.guarantee)
    return page


LOANS = TableSchema(
    [
        Numeric("age", (18, 90)),
        Numeric("debt", (0, 1)),
        Categorical("home", ["own", "rent"]),
        Categorical("sex", ["f", "m"], role="sensitive"),
        YesNo("repaid", ("no", "yes"), role="target"),
    ]
)
UNPAID_MODELS = {
    "draws without noise": _of_draws,
    "fitted elsewhere": lambda home, seed: _of_fitted_models(home, seed, LogisticRegression()),
    "trees of a forest": lambda home, seed: _of_fitted_models(
        home, seed, *(DecisionTreeClassifier(max_depth=k, random_state=0) for k in (2, 3))
    ),
    "audited": lambda home, seed: _audited(home, seed, LogisticRegression(), n_models=20),
    "audited by a sample": lambda home, seed: _audited(
        home, seed, DecisionTreeClassifier(max_depth=3, random_state=0), tolerance=0.3, n_models=6
    ),
    "audited on the page": _audited_here,
}


QUICK = ("draws without noise",)


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind in QUICK else pytest.mark.law) for kind in UNPAID_MODELS],
)
def test_no_part_of_the_release_shows_models_that_no_guarantee_covers(kind, tmp_path):
    """Every view, panel and card, opened and used, is the same whatever the rows were."""
    sent = []
    for seed in (0, 1):
        home = tmp_path / str(seed)
        home.mkdir()
        page = UNPAID_MODELS[kind](home, seed)
        opened = _look_at_all(page, _quick(page))
        set_state(page, selection=(1, 0), people=(3,))
        curators = opened + _lines(_traffic(page))
        page.numbers_panel.view.value = "release"
        opened = _look_at_all(page, page.cards.values())
        page.state.selection = (1, 0)
        sent.append((curators, opened + _lines(_traffic(page))))
    (first, of_first), (second, of_second) = sent
    assert len(set(first) ^ set(second)) > 8  # the control
    assert of_first == of_second
    assert [line for line in of_first if "rx-kind-paid" in line and "rx-style" not in line] == []


def _look_at_all(page, cards):
    """Show every view and these figures, and return what every entry of their menus shows."""
    shown = []
    for view in PAGES:
        page.state.page = view
    for card in cards:
        card.redraw()
        for entry in card.menu.names:
            card.menu.chosen = entry
            shown.append(card.menu.html)
    return shown
