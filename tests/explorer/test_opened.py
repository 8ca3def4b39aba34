"""`Explorer(x)` for every kind of x, without a purchase."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from rashomon_explorer import RashomonClassifier, audit
from rashomon_explorer.data import load_dataset
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.measures import exact_ambiguity, penalised_problem
from rashomon_explorer.sets import from_predictions
from tests.explorer.pages import set_state


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(100, 4, random_state=0)
    return pd.DataFrame(X, columns=list("abcd")), y


def _title(explorer, name):
    return str(explorer.cards[name].view.figure["layout"].get("title"))


def _failed(explorer):
    return [
        name
        for name, card in explorer.cards.items()
        if "could not be drawn" in str(card.view.figure.get("layout"))
    ]


@pytest.mark.parametrize("scaled", [pytest.param(False, marks=pytest.mark.law), True])
def test_a_fitted_linear_model_shows_its_exact_set_and_flips_at_once(rows, tmp_path, scaled):
    X, y = rows
    model = LogisticRegression(max_iter=1000)
    model = (make_pipeline(StandardScaler(), model) if scaled else model).fit(X, y)
    explorer = Explorer(model, data=(X, y), home=tmp_path)
    assert explorer.state.alert is None and _failed(explorer) == []
    seen = StandardScaler().fit_transform(X) if scaled else X
    problem = penalised_problem(model[-1] if scaled else model, seen, y)
    share = exact_ambiguity(problem, explorer.state.audit_psi, np.asarray(seen)).lower
    title = _title(explorer, "dots")
    assert f"{100 * share:.0f} of 100 people: good models disagree" in title
    assert "curator view: not private" in str(explorer.cards["dots"].view.figure["layout"])
    assert explorer.draw_panel.button.disabled and list(tmp_path.iterdir()) == []
    explorer.show("people_ranges")
    people = explorer.cards["people_ranges"].call.table()
    drawn = {"drawn_low", "drawn_high", "drawn_flips"}
    assert set(people) == {"flips", "best", "exact_low", "exact_high"} | drawn
    assert (people["exact_low"] <= people["drawn_low"] + 1e-9).all()
    explorer.state.psi = 1e-3
    assert _title(explorer, "dots") != title and _failed(explorer) == []
    explorer.state.view = "release"
    assert "reads private rows" in str(explorer.cards["dots"].view.figure["layout"])
    explorer.session.choose(load_dataset("monks1"))
    assert explorer.state.audit is None
    ridge = Explorer(Ridge().fit(X, X["a"] + y), data=(X, X["a"] + y), home=tmp_path)
    assert _failed(ridge) == [] and " of " not in _title(ridge, "dots")  # no labels


def test_an_audit_opens_with_its_tolerance_and_its_models(rows, tmp_path, monkeypatch):
    X, y = rows
    monkeypatch.chdir(tmp_path)
    found = audit(LogisticRegression().fit(X, y), X, y, tolerance="1%", n_models=40)
    explorer = found.explore()
    assert explorer.state.audit is found and explorer.state.audit_psi == found.psi
    assert explorer.state.psi != found.psi  # data-dependent: no plan may follow it
    assert explorer.rashomon_set is found.models and _failed(explorer) == []
    assert explorer.draw_panel.button.disabled and explorer.state.page == "set"
    assert explorer.cards["importance"].view.figure["data"]


THREE = make_pipeline(StandardScaler(), LogisticRegression())
AUDITED = {
    "two classes": (LogisticRegression(), lambda X, y: y, set()),
    "three classes": (THREE, lambda X, y: np.digitize(X["a"], [-1, 1]), set()),
    "numbers": (Ridge(), lambda X, y: X["a"] + y, {"class_reliance"}),
    "trees": (DecisionTreeClassifier(max_depth=3, random_state=0), lambda X, y: y, set()),
    "boosting": (
        HistGradientBoostingClassifier(max_iter=5, early_stopping=False, random_state=0),
        lambda X, y: y,
        set(),
    ),
}
OF_GROUPS = {"gaps", "frontier", "burden"}
OF_PEOPLE = {"people", "people_ranges", "importance", "profile"}
NEED_DRAWS = {"decomposition", "importance_distribution", "bounds", "promise", "plan", "budget"}
NEED_DRAWS |= {"tradeoff", "aggregates", "sets", "chains", "columns"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(k, marks=[pytest.mark.law] * (k not in ("numbers", "boosting")))
        for k in AUDITED
    ],
)
def test_every_figure_of_an_audit_is_drawn_with_its_groups_or_says_what_to_do(rows, tmp_path, kind):
    X, y = rows
    model, target, more = AUDITED[kind]
    t = target(X, y)
    sex = pd.Series(np.where(np.arange(len(X)) % 3, "f", "m"), name="sex")
    tolerance = {"trees": 0.5, "boosting": 0.5}.get(kind, "5%")
    settings = {"tolerance": tolerance, "groups": sex, "n_models": 6, "random_state": 0}
    found = audit(clone(model).fit(X, t), X, t, **settings)
    explorer = Explorer(found, home=tmp_path)
    assert explorer.state.audit is found and explorer.state.psi != found.psi
    assert explorer.selected.columns[0] == "sex" and "a" in explorer.selected.columns
    assert explorer.people_headline.column.value == "sex"
    assert ("range wider than" if kind == "numbers" else "the label") in (
        explorer.people_headline.find()
    )
    drawn = {name for name, card in explorer.cards.items() if not _redrawn(card).is_message}
    assert OF_GROUPS | OF_PEOPLE | more <= drawn and _failed(explorer) == []
    assert not drawn & NEED_DRAWS
    table = explorer.cards["burden"].call.table()
    assert set(table.index.get_level_values(0)) >= {"f", "m"} or {"f", "m"} <= set(table.columns)
    if kind in ("boosting", "numbers"):
        assert b"Audit of" in explorer.take_panel._curator_report()().content
    marked = {name for name in drawn if "paid" in _marks(explorer.cards[name])}
    explorer.state.view = "release"
    for card in explorer.cards.values():
        assert _redrawn(card).is_message and "paid" not in _marks(card)
    assert not marked and explorer.selected.columns == ()
    assert not list(tmp_path.iterdir())


def _redrawn(card):
    card.redraw()
    return card.call


def _marks(card):
    return card.call.marks() if callable(card.call.marks) else card.call.marks


def test_a_list_of_fitted_models_is_a_set_and_sets_are_shown_without_rows(rows, tmp_path):
    X, y = rows
    models = [LogisticRegression().fit(X, y), DecisionTreeClassifier(max_depth=3).fit(X, y)]
    explorer = Explorer(models, data=(X, y), home=tmp_path)
    assert explorer.state.alert is None and _failed(explorer) == []
    assert explorer.rashomon_set.n_draws == 2 and not explorer.guarantee.holds
    assert explorer.cards["people"].view.figure["data"]
    explorer.state.view = "release"
    assert _failed(explorer) == []
    for alone in (explorer.rashomon_set, from_predictions([[0, 1], [1, 1]])):
        shown = Explorer(alone, home=tmp_path)
        assert shown.rashomon_set is alone and _failed(shown) == []
        assert not shown.cards["people"].view.figure["data"]


@pytest.mark.slow
def test_a_rashomon_set_is_shown_with_the_data_it_was_drawn_from(cancer, tmp_path):
    wide = {"psi": 0.6, "radius": 4.0, "epsilon": 50.0, "random_state": 0}
    fitted = RashomonClassifier(schema=cancer.schema, mechanism="exact", **wide)
    fitted = fitted.fit(cancer.frame, cancer.frame["diagnosis"])
    models = fitted.rashomon_set_
    alone = Explorer(models, home=tmp_path)
    assert alone.rashomon_set is models and alone.plan is models.plan and _failed(alone) == []
    both = Explorer(models, data=cancer, home=tmp_path)
    assert both.rashomon_set is models and _failed(both) == []
    assert both.cards["people"].view.figure["data"]
    with pytest.raises(DataError, match="the set's models need 'mean radius'"):
        Explorer(models, data=load_dataset("wine"), home=tmp_path)


@pytest.mark.parametrize(
    ("shown", "data", "words"),
    [
        (lambda X, y: LogisticRegression().fit(X, y), None, r"data=\(X, y\)\), got data of"),
        (lambda X, y: DecisionTreeClassifier().fit(X, y), (1, 2), "give it in a list"),
        (lambda X, y: Lasso().fit(X, y), (1, 2), "give it in a list"),
        (lambda X, y: [LogisticRegression().fit(X, y)], None, "need the rows"),
        (lambda X, y: 3, None, "Explorer shows a data set"),
        (lambda X, y: pd.DataFrame(X), None, r"Explorer\(chunk_rows\(frame, target=...\)\)"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_what_can(rows, tmp_path, shown, data, words):
    with pytest.raises(TypeError, match=words):
        Explorer(shown(*rows), data=data, home=tmp_path)


def test_an_unfitted_model_is_told_so_and_a_data_set_is_shown(rows, cancer, tmp_path):
    assert Explorer(cancer, home=tmp_path).data is cancer
    for model in (LogisticRegression(), RashomonClassifier()):
        with pytest.raises(NotFittedError):
            Explorer(model, data=rows, home=tmp_path)


@pytest.mark.slow
def test_a_table_on_the_page_is_audited_with_a_model_fitted_there(tmp_path):
    table = load_dataset("monks1")
    explorer = Explorer(table, home=tmp_path)
    button = explorer.fitting_panel.button
    assert "(free)" in button.description and not button.disabled
    button.click()
    assert explorer.state.alert is None
    found = explorer.state.audit
    assert found.kind == "exact" and explorer.data is table
    assert explorer.state.audit_psi == found.psi != explorer.state.psi == explorer.plan.psi
    explorer.show("people_ranges")
    people = explorer.cards["people_ranges"].call.table()
    flips = found.decided["flips"].to_numpy()[people.index]
    assert ((people["flips"] == "yes") == flips).all()
    assert explorer.cards["importance"].view.figure["data"]
    assert not list(tmp_path.glob("*.ledger")) and not explorer.guarantee.holds
    explorer.state.view = "release"
    assert button.layout.display == "none"
    assert not explorer.cards["people_ranges"].view.figure["data"]
    explorer.state.view = "curator"
    set_state(explorer, n_draws=3, epsilon=1.0, mechanism="langevin")
    explorer.draw()  # its models, ψ and exact results are not the audit's
    assert explorer.state.audit is None and explorer.guarantee.holds
    assert explorer.exact.psi == explorer.plan.psi == explorer.state.psi
    assert f"{found.psi:.6g}" not in "".join(
        path.read_text() for path in tmp_path.glob("*.sets/*.json")
    )
    explorer.session.show_audit(found, table)
    assert explorer.state.audit is found and not explorer.guarantee.holds
    explorer.session.open_saved(1)
    assert explorer.state.audit is None and explorer.guarantee.holds
    explorer.data_panel.name.value = "wine"
    assert explorer.state.audit is None
