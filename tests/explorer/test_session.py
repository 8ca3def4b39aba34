"""What the buttons do, without a page: plans, draws, ledgers, and estimators fitted elsewhere."""

from unittest.mock import Mock

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from rashomon_explorer import exceptions
from rashomon_explorer.data import Numeric, TableSchema, load_csv, load_dataset
from rashomon_explorer.estimators import PublicBoundsScaler, RashomonClassifier
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.panels.data import OWN_FILE
from rashomon_explorer.privacy import Ledger, bounded_range
from tests.explorer.pages import press, set_state

PAGE = {"radius": 4.0, "ridge": 0.0, "n_draws": 20, "mechanism": "exact"}
LOANS = {"target": "repaid", "sensitive": ["sex"], "classes": ["no", "yes"]}
LOANS["bounds"] = {"age": (18, 90), "debt": (0, 1)}
MISSING = "which this table was charged to, is missing"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "breast_cancer.ledger"


def test_planning_reads_no_row_and_writes_no_file(cancer_page, cancer, tmp_path, monkeypatch):
    page = cancer_page
    monkeypatch.setattr(RashomonClassifier, "fit", lambda *_: pytest.fail("fit was called"))
    before = page.plan
    page.state.psi = 0.2
    assert page.plan.psi == 0.2 and page.plan.hit_rate_bound >= before.hit_rate_bound
    charged = RashomonClassifier(psi=0.2, epsilon=4.0, ledger="any.ledger", **PAGE)
    assert page.plan == charged.plan(*cancer.X.shape)
    assert list(tmp_path.iterdir()) == []
    assert page.ledger is None and page.budget == (8.0, 1e-6)


def test_what_was_shown_is_what_is_drawn_and_charged(cancer_page, cancer, path):
    page, shown = cancer_page, cancer_page.plan
    page.draw()
    assert page.state.phase == "done" and page.rashomon_set.plan == shown
    ledger = Ledger.open(path)
    assert page.ledger.spent() == ledger.spent() == page.state.account.spent == pytest.approx(4.0)
    assert page.guarantee.epsilon(1e-6) == pytest.approx(4.0) and not page.guarantee.seeded
    assert page.estimator.predict(cancer.X).shape == cancer.y.shape
    page.session.choose(load_dataset("monks1"))
    assert page.rashomon_set is None and page.estimator is None and page.state.account.spent == 0


def test_a_budget_chosen_before_the_first_draw_is_kept(cancer_page):
    cancer_page.state.budget_epsilon = 5.0
    cancer_page.draw()
    cancer_page.state.budget_epsilon = 50.0
    assert cancer_page.budget == (5.0, 1e-6)
    assert cancer_page.state.account.left == pytest.approx(1.0)


def test_a_charge_of_another_process_is_noticed(cancer_page, cancer, path):
    ledger = Ledger.create(path, epsilon=3.0, delta=1e-5)
    ledger.reserve(bounded_range(eta=2.0))
    cancer_page.session.refresh_account()
    assert cancer_page.state.account.spent == pytest.approx(2.0)
    assert cancer_page.budget == (3.0, 1e-5)
    press(cancer_page.draw_panel)
    assert "ε = 1 remains" in cancer_page.state.alert.reason
    cancer_page.session.choose(cancer)
    assert cancer_page.state.delta == 1e-5  # of a draw is the ledger's


def test_a_ledger_that_was_lost_is_an_error_and_no_fresh_budget(cancer_page, cancer, path):
    cancer_page.draw()
    charged = path.read_bytes()
    path.unlink()
    press(cancer_page.draw_panel)
    assert MISSING in cancer_page.state.alert.reason and not path.exists()
    fresh = Explorer(home=path.parent)  # which knows it from another session
    for page in (cancer_page, fresh):
        with pytest.raises(exceptions.LedgerError, match=MISSING):
            page.session.choose(cancer)
        assert page.state.data is None
    path.write_bytes(charged)
    cancer_page.session.choose(cancer)
    assert cancer_page.state.account.spent == pytest.approx(4.0)
    path.unlink()
    Ledger.create(path, epsilon=1.0, delta=1e-6)
    fresh.session.choose(cancer)
    assert fresh.budget == (1.0, 1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.SameTableWarning")
def test_the_same_rows_under_another_name_go_on_with_their_budget(explorer, table, tmp_path):
    explorer.session.choose(load_csv(table, **LOANS))
    assert explorer.budget_panel.same_rows.value == ""
    explorer.draw()
    left, copy = explorer.state.account.left, table.with_name("copy.csv")
    copy.write_bytes(table.read_bytes())
    again = Explorer(home=tmp_path)
    told = again.budget_panel.same_rows
    for bounds in (LOANS["bounds"], {**LOANS["bounds"], "age": (0, 120)}):
        again.session.choose(load_csv(copy, **{**LOANS, "bounds": bounds}))
        assert "charged to loans.ledger before. This copy uses the same budget" in told.value
        assert 'role="alert"' in told.value
        assert again.ledger.path == explorer.ledger.path and again.state.account.left == left
    again.state.epsilon = 2 * left
    with pytest.raises(exceptions.BudgetExceededError):
        again.draw()
    assert [path.name for path in tmp_path.glob("*.ledger")] == ["loans.ledger"]
    for other in (load_csv(table, **LOANS), load_dataset("wine")):
        again.session.choose(other)
        assert told.value == ""
    Ledger.create(tmp_path / "copy.ledger", epsilon=8.0, delta=1e-6)
    again.session.choose(load_csv(copy, **LOANS))
    assert "charged to loans.ledger before. That budget is separate from copy.ledger" in told.value
    assert again.ledger.path.name == "copy.ledger"
    again.state.epsilon = left / 4
    again.draw()
    third = copy.rename(table.with_name("third.csv"))
    again.session.choose(load_csv(third, **LOANS))
    # the one with the least left
    assert again.ledger.path == explorer.ledger.path and again.state.account.left == left
    again.session.forget()
    assert told.value == ""


@pytest.mark.slow
def test_several_classes_and_numbers_are_drawn_and_shown(explorer):
    explorer.session.choose(load_dataset("wine"))
    charged = RashomonClassifier(epsilon=4.0, ledger="any.ledger", **PAGE)
    assert explorer.plan == charged.plan(178, 13, n_classes=3)
    assert explorer.model_panel.lines()[1].endswith(", classes=range(3))")
    explorer.draw()
    models = explorer.rashomon_set
    assert explorer.state.alert is None and models.n_classes == 3 and models.hit_rate == 0
    assert "the labels that occur in y are public" not in explorer.guarantee.assumptions
    explorer.session.choose(load_dataset("diabetes"))
    assert (explorer.state.loss, explorer.state.radius) == ("squared", 2.0)
    explorer.draw()
    assert explorer.rashomon_set.task == "regression"
    assert explorer.rashomon_set.target_bounds == (0.0, 350.0)


def test_learnt_bounds_remove_the_guarantee_everywhere(explorer, learnt, tmp_path):
    explorer.session.choose(learnt)
    explorer.draw()
    fitted = explorer.estimator[-1]
    guarantees = (explorer.guarantee, fitted.guarantee_, fitted.rashomon_set_.guarantee)
    assert not [one for one in guarantees if one.holds] and not list(tmp_path.glob("*.ledger"))
    assert "No guarantee" in explorer.state.message
    with pytest.raises(exceptions.CuratorOnlyError):
        explorer.rashomon_set.release()
    for name in ("losses", "map", "importance", "people", "bounds"):
        shapes = explorer.cards[name].view.figure["layout"]["shapes"]
        assert any("no privacy guarantee" in str(shape.get("label")) for shape in shapes)


def test_a_failed_draw_keeps_settings_and_earlier_figures(cancer_page, monkeypatch):
    cancer_page.draw()
    kept, cancer_page.state.epsilon = cancer_page.rashomon_set, 1.0
    monkeypatch.setattr(RashomonClassifier, "fit", lambda *_: 1 / 0)
    cancer_page.draw()
    assert cancer_page.state.phase == "failed" and cancer_page.rashomon_set is kept
    assert cancer_page.state.alert.reason == "division by zero"
    assert cancer_page.state.epsilon == 1.0


@pytest.mark.slow
def test_a_fitted_pipeline_is_shown_and_draws_nothing_where_its_ledger_was_lost(cancer, tmp_path):
    ledger = Ledger.create(tmp_path / "mine.ledger", epsilon=3.0, delta=1e-6)
    settings = {"epsilon": 2.0, "n_draws": 7, "classes": (0, 1), "mechanism": "exact"}
    classifier = RashomonClassifier(**settings, ledger=ledger)
    pipeline = make_pipeline(PublicBoundsScaler(cancer.bounds), classifier)
    pipeline.fit(cancer.X, cancer.y)
    explorer = Explorer(pipeline, data=cancer, home=tmp_path)
    assert explorer.rashomon_set is classifier.rashomon_set_ and explorer.estimator is pipeline
    assert explorer.plan == classifier.plan_ and explorer.ledger.spent() == pytest.approx(2.0)
    scores = explorer.rashomon_set.scores(explorer.rows).mean(axis=0)
    assert scores == pytest.approx(pipeline.predict_proba(cancer.X)[:, 1])
    ledger.path.unlink()
    explorer = Explorer(pipeline, data=cancer, home=tmp_path)
    assert explorer.rashomon_set is classifier.rashomon_set_ and explorer.state.account is None
    assert MISSING in explorer.state.alert.reason
    with pytest.raises(exceptions.LedgerError, match=MISSING):
        explorer.draw()
    assert not ledger.path.exists()


@pytest.mark.law
def test_what_takes_a_table_as_it_is_is_shown_with_and_without_its_rows(cancer, tmp_path):
    schema = TableSchema([Numeric(name, cancer.bounds[name]) for name in cancer.X])
    classifier = RashomonClassifier(n_draws=7, schema=schema).fit(cancer.X, cancer.y)
    assert Explorer(classifier, home=tmp_path).rashomon_set is classifier.rashomon_set_
    explorer = Explorer(classifier, data=cancer, home=tmp_path)
    scores = explorer.rashomon_set.scores(explorer.rows).mean(axis=0)
    assert scores == pytest.approx(classifier.predict_proba(cancer.X)[:, 1])
    explorer.state.people = (3,)  # one row without names, where all columns are numbers
    explorer.session.what_if.change("mean radius", "0.1")
    assert explorer.rashomon_set.scores(explorer.session.what_if.after).shape == (7, 1)
    with pytest.raises(exceptions.DataError, match="the table lacks 'mean radius'"):
        Explorer(classifier, data=load_dataset("wine"), home=tmp_path)


def test_every_draw_is_shown_though_the_ledger_cannot_be_read_on_the_way(cancer_page, monkeypatch):
    job, state = cancer_page.drawing.prepare(), cancer_page.state
    job.run()
    state.rashomon_set, state.n_drawn = job.latest[:19], 19
    away = Mock(side_effect=OSError("the disk is away"))
    monkeypatch.setattr(cancer_page.session, "refresh_account", away)
    while cancer_page.drawing.pump():
        pass
    assert state.phase == "done" and state.alert.reason == "the disk is away"
    assert cancer_page.rashomon_set.n_draws == state.n_drawn == 20


@pytest.mark.slow
def test_a_set_brings_its_settings_and_a_table_resets_those_of_the_last(tmp_path, cancer):
    page = Explorer(data=cancer, home=tmp_path)
    opened = {name: getattr(page.state, name) for name in ("radius", "n_draws", "mechanism")}
    set_state(page, psi=0.6, n_draws=2, epsilon=2.0, radius=3.0)
    page.draw()
    set_state(page, psi=0.1, n_draws=7, epsilon=1.0, radius=1.0, mechanism="langevin")
    assert page.numbers_panel.stale.value
    page.session.open_saved(1)
    assert page.state.settings() == page.state.drawn_settings and not page.numbers_panel.stale.value
    assert (page.state.psi, page.state.n_draws, page.state.radius) == (0.6, 2, 3.0)
    page.state.mechanism = "hit_and_run"
    page.data_panel.name.value = "lending"
    assert {name: getattr(page.state, name) for name in opened} == opened
    assert (page.state.psi, page.state.epsilon) == (0.02, 4.0)  # not those of the other's set
    page.state.radius = 2.0
    page.session.choose(page.data)  # the same table: what was changed stays
    assert page.state.radius == 2.0


def test_while_a_file_is_described_nothing_sells_the_old_table(cancer_page, table):
    page, panel = cancer_page, cancer_page.data_panel
    panel.name.value = OWN_FILE
    assert page.data is None and page.draw_panel.button.disabled
    panel.schema.file.choose("loans.csv", table.read_bytes())
    panel.schema.use.click()
    assert page.data.name == "loans" and not page.draw_panel.button.disabled
    panel.schema.file.choose("other.csv", table.read_bytes())
    assert page.data is None and page.draw_panel.button.disabled


@pytest.mark.slow
def test_reopened_a_page_comes_back_to_the_last_table_and_asks_for_its_file_again(tmp_path, table):
    home = tmp_path / "home"
    home.mkdir()
    page, ready = Explorer(home=home), Explorer(home=home)  # as a kernel that waits for a visit is
    page.data_panel.name.value = OWN_FILE
    panel = page.data_panel.schema
    panel.file.choose("loans.csv", table.read_bytes())
    panel.confirm.click()
    set_state(page, psi=0.6, n_draws=2, epsilon=1.0)
    page.draw()
    assert page.state.alert is None and page.guarantee.holds
    ready._show_last_table()
    assert ready.state.page == "data" and "Give the file of loans again" in ready.state.message
    again = Explorer(home=home)
    assert again.state.page == "data" and again.data is None
    assert "Give the file of loans again" in again.state.message
    assert again.data_panel.name.label == "loans: give the file again"
    again.data_panel.schema.file.choose("loans.csv", table.read_bytes())
    assert "confirmed before" in again.state.message
    assert again.data_panel.schema.confirm.disabled
    again.data_panel.schema.use.click()
    assert np.array_equal(again.rashomon_set.coef, page.rashomon_set.coef)
    assert again.state.psi == 0.6 and not again.data.bounds_learnt
    other = table.read_text().replace("debt", "loan").encode()  # the control: other columns
    again.data_panel.schema.file.choose("loans.csv", other)
    assert "proposed schema" in again.state.message and not again.data_panel.schema.confirm.disabled
    again.data_panel.name.value = "breast_cancer"
    again.draw()
    assert Explorer(home=home).data.name == "breast_cancer"
