"""Estimators that the page fits and audits: free, for the curator, and ended by Stop."""

import asyncio
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from rashomon_explorer.data import Categorical, Numeric, TableSchema, YesNo
from rashomon_explorer.explorer import fitting
from rashomon_explorer.explorer.panels.fitting import NOTEBOOK
from rashomon_explorer.explorer.table_editor import TableEditor
from rashomon_explorer.explorer.table_rows import encoded

N = 80
FEATURES = [Numeric("age", (18, 90)), Categorical("home", ["own", "rent", "other"])]
YES = YesNo("repaid", ("no", "yes"), role="target")
PAID = Numeric("paid", (0, 4), role="target")


def _table(target=YES, signal=1.0):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(18, 90, N)})
    frame["home"] = rng.choice(["own", "rent", "other"], N)
    paid = signal * (frame["age"] / 45 + (frame["home"] == "own")) + rng.random(N)
    frame["paid"] = np.clip(paid, 0, 4)
    frame["repaid"] = np.where(paid > np.quantile(paid, 0.3), "yes", "no")
    names = [*(column.name for column in FEATURES), target.name]
    return TableEditor(target.name, frame[names], TableSchema([*FEATURES, target])).data()


def _shuffled(data):
    order = np.random.default_rng(0).permutation(N)
    return encoded(data)[1].iloc[order], data.y[order]


@pytest.fixture(scope="module", autouse=True)
def few_fits():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "REFITS", 3)
        for name, row in [*fitting.ESTIMATORS.items()]:
            patch.setitem(fitting.ESTIMATORS, name, row._replace(grid=row.grid[-2:-1]))
        yield


@pytest.fixture
def panel(explorer):
    explorer.session.choose(_table())
    return explorer.fitting_panel


def _press(page, name):
    page.fitting_panel.choice.label = name
    page.fitting_panel.button.click()
    assert page.state.alert is None
    return page.fitting_panel.words.value


CASES = [
    pytest.param(
        name, YES, marks=() if name in ("Logistic regression", "SVM") else pytest.mark.slow
    )
    for name, row in fitting.ESTIMATORS.items()
    if "classification" in row.models
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("name", "target"), [*CASES, ("Ridge (least squares)", PAID), ("SVM", PAID)]
)
def test_each_estimator_is_scored_as_scikit_learn_does_and_its_set_is_on_screen(
    explorer, tmp_path, name, target
):
    data = _table(target)
    explorer.session.choose(data)
    words, (models, setting, penalty, (value,)) = _press(explorer, name), fitting.ESTIMATORS[name]
    model = models[data.task].set_params(**{setting: value})
    score, found = cross_val_score(model, *_shuffled(data)).mean(), explorer.state.audit
    assert found.kind == (
        "exact" if name in ("Logistic regression", "Ridge (least squares)") else "sampled"
    )
    assert explorer.state.page == ("set" if found.kind == "exact" else "people")
    assert explorer.rashomon_set.n_draws and explorer.data is data
    if found.kind == "sampled":  # a person's edit is an array, without a warning
        rows, models = encoded(data)[1], explorer.rashomon_set
        assert (models.best_scores(rows.to_numpy()) == models.best_scores(rows)).all()
    explorer.show("losses")
    assert explorer.cards["losses"].view.figure["data"] and not list(tmp_path.glob("*.ledger"))
    psi = f"ψ = one standard error ({fitting.number(found.psi)})"
    assert f" · {penalty} = {value:g} by cross-validation · {psi}" in words
    if target is PAID:
        assert f"R² {score:.2f} · RMSE" in words
        return
    share = np.mean(data.y == 1)
    assert f">accuracy {score:.1%} · always “yes” {share:.1%} ·" in words and share > 0.5
    assert found.inputs.model.classes == ("no", "yes") and "guessing" not in words


@pytest.mark.slow
def test_the_penalty_has_the_least_held_out_loss_and_guessing_is_said_so(explorer):
    logistic = fitting.ESTIMATORS["Logistic regression"]._replace(grid=(1e-4, 1.0, 1e4))
    facts, _ = fitting.fit_and_audit(logistic, _table(), lambda *fits: None)
    models = {C: LogisticRegression(C=C, max_iter=10_000) for C in logistic.grid}
    gains = {
        C: cross_val_score(model, *_shuffled(_table()), scoring="neg_log_loss").mean()
        for C, model in models.items()
    }
    best = fitting.number(max(gains, key=gains.get))
    assert f"penalty C = {best} by cross-validation" in facts
    explorer.session.choose(_table(signal=0.0))
    assert "no better than guessing</span>" in _press(explorer, "Logistic regression")


def test_a_large_table_is_fitted_by_a_sample_with_every_class(monkeypatch):
    monkeypatch.setattr(fitting, "FITTED_ROWS", 10)
    y = np.append(np.zeros(99), 1)
    model = fitting.ESTIMATORS["SVM"].models["classification"].fit(y[:, None], y)
    assert 10 < model.shape_fit_[0] <= 12 and model.predict([[1.0]]) == [1.0]
    facts, _ = fitting.fit_and_audit(fitting.ESTIMATORS["SVM"], _table(), lambda *fits: None)
    assert facts[-1] == "each fit reads 10 of 80 rows"


ENDS = {
    "stop": lambda page: page.fitting_panel.stop.click(),
    "another table": lambda page: page.session.choose(_table(PAID)),
    "a draw": lambda page: setattr(page.state, "phase", "reserved"),
    "release view": lambda page: setattr(page.state, "view", "release"),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_fit_that_is_ended_leaves_the_page_as_it_was(panel, explorer, monkeypatch, end):
    """The worker waits before its twelfth fit, which is of a refit, and is interrupted there."""
    go, fit_and_audit, fits = threading.Event(), fitting.fit_and_audit, []

    def slow(estimator, data, watch):
        def watched(fit, total):
            fits.append(fit)
            assert fit < 12 or go.wait(60)
            watch(fit, total)

        return fit_and_audit(estimator, data, watched)

    async def scenario():
        panel.choice.label = "SVM"
        panel.button.click()
        task = panel.task.task
        while ">11 of" not in panel.progress.value:
            await asyncio.sleep(0.001)
        assert panel.button.disabled and panel.choice.disabled
        ENDS[end](explorer)
        assert not panel.task.running and panel.stop.layout.display == "none"
        go.set()
        await asyncio.wait([task])

    monkeypatch.setattr(fitting, "fit_and_audit", slow)
    asyncio.run(scenario())
    state = explorer.state
    assert fits == [*range(1, 13)] and not panel.facts and panel.progress.value == ""
    assert state.alert is None and state.audit is None and state.page == "data"


def test_the_release_view_and_a_running_draw_offer_no_fit(panel, explorer):
    assert "accuracy" in _press(explorer, "Logistic regression")
    offer, explorer.state.view = panel.button.offer, "release"
    assert panel.words.value == "" and panel.button.layout.display == "none"
    assert "LogisticRegression" not in explorer.draw_panel.status.html
    explorer.state.view, explorer.state.phase = "curator", "drawing"
    assert panel.button.disabled and panel.choice.disabled
    explorer.state.phase = "done"
    explorer.session.choose(_table(PAID))
    assert panel.facts == {} and panel.choice.label == "Ridge (least squares)"
    panel.button._receive(None, {"type": "pressed", "offer": offer}, None)
    assert panel.facts == {} and "press again" in explorer.state.message


def test_private_estimators_choose_the_family_and_the_last_choice_is_a_notebook(panel, explorer):
    panel.choice.label = "Sparse trees"
    assert explorer.state.family == "trees" and panel.button.layout.display == "none"
    panel.choice.label = "Random forest"
    assert explorer.state.family == "trees" and "audited by refits" in panel.words.value
    panel.choice.label, explorer.state.family = "Logistic regression", "trees"
    assert panel.choice.label == "Sparse trees"
    panel.choice.value = NOTEBOOK
    assert "Explorer(audit(model, X, y))" in panel.words.value
    assert panel.button.layout.display == "none"
