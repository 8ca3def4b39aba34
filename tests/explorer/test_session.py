"""What the buttons do, without a page."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils import Bunch

from rashomon_explorer.data import Numeric, TableSchema, load_csv, load_dataset
from rashomon_explorer.estimators import PublicBoundsScaler, RashomonClassifier
from rashomon_explorer.exceptions import (
    BudgetExceededError,
    CuratorOnlyError,
    DataError,
    LedgerError,
)
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.session import HOME_VARIABLE, default_home
from rashomon_explorer.privacy import Ledger, bounded_range
from tests.explorer.pressing import press

PAGE = {"radius": 4.0, "ridge": 0.0, "n_draws": 20, "mechanism": "exact"}


def test_home_is_where_the_command_was_started(monkeypatch, tmp_path):
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    assert default_home() == tmp_path
    monkeypatch.delenv(HOME_VARIABLE)
    monkeypatch.chdir(tmp_path)
    assert default_home() == tmp_path


def test_planning_reads_no_row_and_writes_no_file(explorer, cancer, tmp_path, monkeypatch):
    explorer.session.choose(cancer)
    monkeypatch.setattr(RashomonClassifier, "fit", lambda *_: pytest.fail("fit was called"))
    before = explorer.plan
    explorer.state.psi = 0.2
    assert explorer.plan.psi == 0.2
    assert explorer.plan.hit_rate_bound >= before.hit_rate_bound
    charged = RashomonClassifier(psi=0.2, epsilon=4.0, ledger="any.ledger", **PAGE)
    assert explorer.plan == charged.plan(*cancer.X.shape)
    assert list(tmp_path.iterdir()) == []
    assert explorer.ledger is None
    assert explorer.budget == (8.0, 1e-6)


def test_a_draw_charges_the_ledger_its_whole_price(explorer, cancer, tmp_path):
    explorer.session.choose(cancer)
    shown = explorer.plan
    explorer.draw()
    assert explorer.state.phase == "done"
    assert explorer.state.alert is None
    assert explorer.rashomon_set.plan is shown  # what was shown is what was charged
    ledger = Ledger.open(tmp_path / "breast_cancer.ledger")
    assert ledger.budget == (8.0, 1e-6)
    assert ledger.spent() == pytest.approx(4.0)
    assert explorer.ledger.spent() == ledger.spent() == explorer.state.account.spent
    assert explorer.guarantee.epsilon(1e-6) == pytest.approx(4.0)
    assert not explorer.guarantee.reproducible
    assert explorer.estimator.predict(cancer.X).shape == cancer.y.shape
    assert explorer.estimator[-1].rashomon_set_ is explorer.rashomon_set


def test_over_the_budget_nothing_is_read_spent_or_lost(explorer, cancer, tmp_path):
    explorer.session.choose(cancer)
    explorer.draw()
    kept = explorer.rashomon_set
    explorer.state.epsilon = 50.0
    press(explorer.draw_panel)
    for told in ("ε = 4 remains", "Nothing was read and nothing was spent"):
        assert told in explorer.state.alert.reason
    assert Ledger.open(tmp_path / "breast_cancer.ledger").spent() == pytest.approx(4.0)
    assert explorer.rashomon_set is kept
    assert explorer.state.epsilon == 50.0
    with pytest.raises(BudgetExceededError):
        explorer.draw()


def test_a_budget_chosen_before_the_first_draw_is_kept(explorer, cancer, tmp_path):
    explorer.session.choose(cancer)
    explorer.state.budget_epsilon = 5.0
    explorer.draw()
    explorer.state.budget_epsilon = 50.0
    assert explorer.budget == (5.0, 1e-6)
    assert explorer.state.account.left == pytest.approx(1.0)


def test_a_charge_of_another_process_is_noticed(explorer, cancer, tmp_path):
    explorer.session.choose(cancer)
    Ledger.create(tmp_path / "breast_cancer.ledger", epsilon=3.0, delta=1e-5).reserve(
        bounded_range(eta=2.0)
    )
    explorer.session.refresh_account()
    assert explorer.state.account.spent == pytest.approx(2.0)
    assert explorer.budget == (3.0, 1e-5)
    press(explorer.draw_panel)
    assert "ε = 1 remains" in explorer.state.alert.reason


def test_a_ledger_that_was_lost_is_an_error_and_no_fresh_budget(explorer, cancer, tmp_path):
    path = tmp_path / "breast_cancer.ledger"
    explorer.session.choose(cancer)
    explorer.draw()
    charged = path.read_bytes()
    path.unlink()
    press(explorer.draw_panel)
    assert "which this table was charged to, is missing" in explorer.state.alert.reason
    assert not path.exists()
    with pytest.raises(LedgerError, match="which this table was charged to, is missing"):
        explorer.session.choose(cancer)
    path.write_bytes(charged)
    explorer.session.choose(cancer)
    assert explorer.state.account.spent == pytest.approx(4.0)


@pytest.mark.parametrize("content", [b"", b"not a ledger " * 100])
def test_an_empty_or_foreign_file_is_told_and_nothing_is_chosen(content, cancer, tmp_path):
    (tmp_path / "breast_cancer.ledger").write_bytes(content)
    explorer = Explorer(home=tmp_path)
    assert explorer.state.data.name == "lending"
    with pytest.raises(LedgerError, match=r"is empty: a ledger was lost|not a database"):
        explorer.session.choose(cancer)
    assert explorer.state.data is None
    assert explorer.state.account is None
    assert (tmp_path / "breast_cancer.ledger").read_bytes() == content


def test_a_page_that_starts_at_a_lost_ledger_says_so(tmp_path):
    (tmp_path / "lending.ledger").touch()
    explorer = Explorer(home=tmp_path)
    assert "is empty: a ledger was lost" in explorer.state.alert.reason
    assert explorer.draw_panel.button.disabled


def test_the_same_rows_under_another_name_go_on_with_their_budget(explorer, table, tmp_path):
    bounds = {"age": (18, 90), "debt": (0, 1)}
    asked = {"target": "repaid", "sensitive": ["sex"], "bounds": bounds, "classes": ["no", "yes"]}
    explorer.session.choose(load_csv(table, **asked))
    assert explorer.budget_panel.same_rows.value == ""
    explorer.draw()
    left = explorer.state.account.left
    copy = table.with_name("loans (1).csv")
    copy.write_bytes(table.read_bytes())
    again = Explorer(home=tmp_path)
    for declared in (bounds, {**bounds, "age": (0, 120)}):
        again.session.choose(load_csv(copy, **{**asked, "bounds": declared}))
        told = again.budget_panel.same_rows.value
        assert "charged to loans.ledger before. This copy uses the same budget" in told
        assert 'role="alert"' in told
        assert again.ledger.path == explorer.ledger.path
        assert again.state.account.left == left
    again.state.epsilon = 2 * left
    with pytest.raises(BudgetExceededError):
        again.draw()
    assert [path.name for path in tmp_path.glob("*.ledger")] == ["loans.ledger"]
    again.session.choose(load_csv(table, **asked))
    assert again.budget_panel.same_rows.value == ""
    again.session.choose(load_dataset("wine"))
    assert again.budget_panel.same_rows.value == ""
    again.session.forget()
    assert again.budget_panel.same_rows.value == ""


@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.SameTableWarning")
def test_two_ledgers_of_the_same_rows_are_told_beside_the_budget(explorer, table, tmp_path):
    asked = {"target": "repaid", "bounds": {"age": (18, 90), "debt": (0, 1)}, "sensitive": ["sex"]}
    asked["classes"] = ["no", "yes"]
    explorer.session.choose(load_csv(table, **asked))
    explorer.draw()
    copy = table.with_name("copy.csv")
    copy.write_bytes(table.read_bytes())
    Ledger.create(tmp_path / "copy.ledger", epsilon=8.0, delta=1e-6)
    explorer.session.choose(load_csv(copy, **asked))
    told = explorer.budget_panel.same_rows.value
    assert "charged to loans.ledger before. That budget is separate from copy.ledger" in told
    assert explorer.ledger.path.name == "copy.ledger"


def test_a_ledger_that_another_session_used_and_that_is_missing_was_lost(
    explorer, cancer, tmp_path
):
    explorer.session.choose(cancer)
    explorer.draw()
    (tmp_path / "breast_cancer.ledger").unlink()
    fresh = Explorer(home=tmp_path)
    with pytest.raises(LedgerError, match="which this table was charged to, is missing"):
        fresh.session.choose(cancer)
    assert fresh.state.data is None
    Ledger.create(tmp_path / "breast_cancer.ledger", epsilon=1.0, delta=1e-6)
    fresh.session.choose(cancer)
    assert fresh.budget == (1.0, 1e-6)


def test_delta_of_a_draw_is_the_ledgers(explorer, cancer, tmp_path):
    Ledger.create(tmp_path / "breast_cancer.ledger", epsilon=3.0, delta=1e-5)
    explorer.session.choose(cancer)
    assert explorer.state.delta == 1e-5


def test_several_classes_are_drawn_and_shown_together(explorer):
    wine = load_dataset("wine")
    explorer.session.choose(wine)
    charged = RashomonClassifier(epsilon=4.0, ledger="any.ledger", **PAGE)
    assert explorer.plan == charged.plan(178, 13, n_classes=3)
    assert "class_0 or class_1 or class_2" in explorer.data_panel.about.value
    assert explorer.model_panel.lines()[1].endswith(", classes=range(3))")
    explorer.draw()
    assert explorer.state.alert is None
    models = explorer.rashomon_set
    assert models.n_classes == 3
    assert "the labels that occur in y are public" not in explorer.guarantee.assumptions
    for name, card in explorer.cards.items():
        if card.on_demand:  # made when somebody looks
            continue
        assert "could not be drawn" not in str(card.view.figure["layout"]), name
        card._table_button.value = True
        of_nobody = "None of 20 draws" in str(card.view.figure["layout"])
        of_the_set = name in ("importance", "people", "coefficient_spread")
        assert of_nobody == (of_the_set or name == "coefficients") and models.hit_rate == 0
        assert ("<caption>" in card._table.value) is not of_the_set, name
    assert explorer.cards["coefficients"]._x.options == models.parameter_names
    explorer.state.selection = (1, 3)
    assert "class 2: alcohol" in explorer.selection_panel.table.value


def test_one_class_is_refused(explorer, cancer):
    with pytest.raises(DataError, match="has one class, expected at least two"):
        explorer.session.choose(Bunch(**{**cancer, "classes": ["yes"]}))


def test_regression_is_drawn_with_its_target_bounds(explorer):
    explorer.session.choose(load_dataset("diabetes"))
    assert (explorer.state.loss, explorer.state.radius) == ("squared", 2.0)
    explorer.draw()
    assert explorer.rashomon_set.task == "regression"
    assert explorer.rashomon_set.target_bounds == (0.0, 350.0)


def test_learnt_bounds_remove_the_guarantee_everywhere(explorer, learnt, tmp_path):
    explorer.session.choose(learnt)
    explorer.draw()
    assert not explorer.guarantee.holds
    assert not explorer.estimator[-1].guarantee_.holds
    assert not explorer.estimator[-1].rashomon_set_.guarantee.holds
    assert not list(tmp_path.glob("*.ledger"))
    assert "No guarantee" in explorer.state.message
    with pytest.raises(CuratorOnlyError):
        explorer.rashomon_set.release()
    for name in ("losses", "coefficients", "importance", "people", "bounds"):
        shapes = explorer.cards[name].view.figure["layout"]["shapes"]
        assert any("no privacy guarantee" in str(shape.get("label")) for shape in shapes)


def test_changing_the_data_takes_the_draws_away_but_not_the_ledger(explorer, cancer, tmp_path):
    explorer.session.choose(cancer)
    explorer.draw()
    explorer.session.choose(load_dataset("monks1"))
    assert explorer.rashomon_set is None
    assert explorer.estimator is None
    assert explorer.state.account.spent == 0
    explorer.session.choose(cancer)
    assert explorer.state.account.spent == pytest.approx(4.0)


def test_a_second_draw_while_one_is_under_way_is_refused(explorer, cancer):
    explorer.session.choose(cancer)
    explorer.state.phase = "drawing"
    with pytest.raises(DataError, match="a draw is running"):
        explorer.draw()
    with pytest.raises(DataError, match="a draw is running"):
        explorer.session.choose(cancer)


def test_drawing_without_data_says_so(explorer):
    with pytest.raises(DataError, match="choose one under Data"):
        explorer.draw()


def test_a_failed_draw_keeps_settings_and_earlier_figures(explorer, cancer, monkeypatch):
    explorer.session.choose(cancer)
    explorer.draw()
    kept = explorer.rashomon_set

    def fail(*_):
        raise RuntimeError("the sampler is out of luck: use fewer columns")

    monkeypatch.setattr(RashomonClassifier, "fit", fail)
    explorer.state.epsilon = 1.0
    explorer.draw()
    assert explorer.state.phase == "failed"
    assert explorer.state.alert.reason == "the sampler is out of luck: use fewer columns"
    assert explorer.rashomon_set is kept
    assert explorer.state.epsilon == 1.0


def test_show_a_fitted_pipeline(cancer, tmp_path):
    ledger = tmp_path / "mine.ledger"
    Ledger.create(ledger, epsilon=3.0, delta=1e-6)
    classifier = RashomonClassifier(
        epsilon=2.0, n_draws=7, classes=(0, 1), ledger=ledger, mechanism="exact"
    )
    pipeline = make_pipeline(PublicBoundsScaler(cancer.bounds), classifier)
    pipeline.fit(cancer.X, cancer.y)
    explorer = Explorer(pipeline, data=cancer, home=tmp_path)
    assert explorer.rashomon_set is classifier.rashomon_set_
    assert explorer.estimator is pipeline
    assert explorer.plan == classifier.plan_
    assert explorer.ledger.spent() == pytest.approx(2.0)
    scores = explorer.rashomon_set.scores(explorer.rows).mean(axis=0)
    assert scores == pytest.approx(pipeline.predict_proba(cancer.X)[:, 1])


def test_a_fitted_estimator_whose_ledger_was_lost_is_shown_and_draws_nothing(cancer, tmp_path):
    ledger = Ledger.create(tmp_path / "mine.ledger", epsilon=3.0, delta=1e-6)
    classifier = RashomonClassifier(
        epsilon=2.0, n_draws=7, classes=(0, 1), ledger=ledger, mechanism="exact"
    )
    pipeline = make_pipeline(PublicBoundsScaler(cancer.bounds), classifier)
    pipeline.fit(cancer.X, cancer.y)
    ledger.path.unlink()
    explorer = Explorer(pipeline, data=cancer, home=tmp_path)
    assert explorer.rashomon_set is classifier.rashomon_set_
    assert explorer.state.account is None
    assert "which this table was charged to, is missing" in explorer.state.alert.reason
    with pytest.raises(LedgerError, match="which this table was charged to, is missing"):
        explorer.draw()
    assert not ledger.path.exists()


def test_show_a_fitted_classifier_without_its_rows(cancer, tmp_path):
    rows = PublicBoundsScaler(cancer.bounds).fit_transform(cancer.X)
    classifier = RashomonClassifier(n_draws=7, mechanism="exact").fit(rows, cancer.y)
    explorer = Explorer(classifier, home=tmp_path)
    drawn = {t["name"] for t in explorer.cards["losses"].view.figure["data"]}
    assert drawn == {"draws", "draw", "best model"}
    words = explorer.cards["people"].view.figure["layout"]["annotations"][0]["text"]
    assert "Explorer(models, data=data)" in words.replace("<br>", " ")
    assert explorer.draw_panel.button.disabled


@pytest.mark.law
def test_what_takes_a_table_as_it_is_is_shown_with_and_without_its_rows(cancer, tmp_path):
    schema = TableSchema([Numeric(name, cancer.bounds[name]) for name in cancer.X])
    classifier = RashomonClassifier(n_draws=7, schema=schema).fit(cancer.X, cancer.y)
    assert Explorer(classifier, home=tmp_path).rashomon_set is classifier.rashomon_set_
    explorer = Explorer(classifier, data=cancer, home=tmp_path)
    scores = explorer.rashomon_set.scores(np.asarray(explorer.rows)).mean(axis=0)
    assert scores == pytest.approx(classifier.predict_proba(cancer.X)[:, 1])
    with pytest.raises(DataError, match="the table lacks 'mean radius'"):
        Explorer(classifier, data=load_dataset("wine"), home=tmp_path)


def test_an_estimator_that_was_not_fitted_is_told_so(tmp_path):
    with pytest.raises(NotFittedError, match="not fitted"):
        Explorer(RashomonClassifier(), home=tmp_path)


def test_a_draw_ends_well_though_its_ledger_cannot_be_read_on_the_way(
    explorer, cancer, monkeypatch
):
    explorer.session.choose(cancer)
    job = explorer.drawing.prepare()
    job.run()

    def fail():
        raise OSError("the disk is away")

    monkeypatch.setattr(explorer.session, "refresh_account", fail)
    while explorer.drawing.pump():
        pass
    assert explorer.state.phase == "done"
    assert explorer.rashomon_set.n_draws == 20
    assert explorer.state.alert.reason == "the disk is away"


def test_one_more_draw_than_is_shown_is_shown_too(explorer, cancer):
    explorer.session.choose(cancer)
    job = explorer.drawing.prepare()
    job.run()
    explorer.state.rashomon_set, explorer.state.n_drawn = job.latest[:19], 19
    explorer.drawing.pump()
    assert explorer.rashomon_set.n_draws == explorer.state.n_drawn == 20


def test_the_watcher_says_once_that_the_ledger_fails_and_goes_on(explorer, cancer, monkeypatch):
    explorer.session.choose(cancer)
    read = explorer.session.refresh_account
    errors = [OSError("locked"), OSError("locked"), None]

    def refresh():
        error = errors.pop(0)
        if error is not None:
            raise error
        return read()

    monkeypatch.setattr(explorer.session, "refresh_account", refresh)
    told = explorer._look(None)
    assert explorer.state.alert.reason == "locked"
    explorer.state.alert = None  # dismissed: the same failure is not said again
    told = explorer._look(told)
    assert explorer.state.alert is None
    explorer.state.alert = told
    assert explorer._look(told) is None
    assert explorer.state.alert is None


def test_a_data_set_that_was_scaled_is_not_said_to_be_unread(explorer, cancer):
    explorer.session.choose(cancer)
    assert "Nothing was read" not in explorer.state.message
    assert "No draw has read it" in explorer.state.message


def test_categories_are_one_feature_on_the_page_and_columns_on_request(explorer, tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 3000), "home": rng.choice(["a", "b"], 3000)})
    frame["repaid"] = np.where(frame["age"] > 50, "yes", "no")
    path = tmp_path / "homes.csv"
    frame.to_csv(path, index=False)
    declared = {"bounds": {"age": (18, 90)}, "classes": ["no", "yes"]}
    data = load_csv(path, target="repaid", categories={"home": ["a", "b"]}, **declared)
    explorer.session.choose(data)
    explorer.state.psi, explorer.state.n_draws = 0.3, 4
    explorer.draw()
    assert explorer.rashomon_set.hit_rate > 0
    assert dict(explorer.rashomon_set.feature_groups) == data.feature_groups
    card = explorer.cards["importance"]
    assert set(card.view.figure["layout"]["yaxis"]["ticktext"]) == {"age", "home"}
    card._what.value = "columns"
    shown = card.view.figure["layout"]["yaxis"]["ticktext"]
    assert set(shown) == {"age", "home=a", "home=b"}
    assert "features='columns'" in card.lines[1]
    card._what.value = "coef"
    assert "coefficients" in card.view.figure["layout"]["title"]["text"]
    assert explorer.state.alert is None
