"""Sets of states: measures, selections, files and the curator's report."""

import re
import warnings
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest

import rashomon_explorer as rx
from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer.data import Categorical, Numeric, TableSchema
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures import multiplicity_table, permutation_importance
from rashomon_explorer.networks import Network, NetworkSet, ReleasedNetworks
from rashomon_explorer.networks.models import OWN_MODEL
from rashomon_explorer.plots.profile import plot_shapes, shape_table
from rashomon_explorer.privacy import adaptive_epsilon
from rashomon_explorer.release import release
from rashomon_explorer.report import curator_report, report
from rashomon_explorer.sets import ModelSet

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (500, 3))
Y = (X[:, 0] + X[:, 1] ** 2 > 0.1).astype(int)
STATES = {"n_draws": 6, "n_losses": 3, "n_steps": 30, "epsilon": 8.0, "random_state": 0}


@pytest.fixture(scope="module")
def models():
    return rx.RashomonNetworkClassifier(**STATES).fit(X, Y).rashomon_set_


def test_a_release_has_states_and_noisy_losses_and_nothing_of_the_rows(models, tmp_path):
    released = models.release()
    assert np.isfinite(released.released_losses).sum() == 3
    for name in ("losses", "hit_rate", "least"):
        with pytest.raises(CuratorOnlyError):
            getattr(released, name)
    released.save(tmp_path / "networks.npz")
    for kind in (ReleasedNetworks, ModelSet):
        again = kind.load(tmp_path / "networks.npz")
        assert (again.scores(X) == models.scores(X)).all() and again.plan == models.plan
        assert again.guarantee.epsilon(1e-6) == models.guarantee.epsilon(1e-6)
    models.save(tmp_path / "curator.npz")
    assert (NetworkSet.load(tmp_path / "curator.npz").losses == models.losses).all()
    with pytest.raises(CuratorOnlyError, match="chosen"):
        models.inside().release()
    assert models.release()[:2].guarantee.holds


def test_shares_of_states_have_bounds_that_grow_with_psi(models):
    narrow, wide = models.released_share(0.0), models.released_share(100.0)
    assert narrow.low <= narrow.share <= narrow.high <= wide.high
    assert wide == (1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="level"):
        models.released_share(level=1.0)


def test_bounds_of_the_share_cover_the_true_one(models):
    plan, rng = models.plan, np.random.default_rng(1)
    unit, covered = plan.loss_deviation, []
    for _ in range(200):
        losses = np.full(models.n_draws, np.nan)
        losses[plan.measured] = unit * (np.array([0.0, 1.0, 3.0]) + rng.standard_normal(3))
        share = replace(models, released_losses=losses).released_share(2 * unit)
        covered.append(share.low <= 2 / 3 <= share.high)
    assert np.mean(covered) >= 0.95


def test_measures_and_the_report_take_the_set(models, tmp_path):
    assert len(multiplicity_table(models, X)) > 0
    table = permutation_importance(models, X, Y, random_state=0)
    assert table.shape == (6, 3)
    path = curator_report(models, tmp_path / "report.html", X, Y, interactive=False)
    text = path.read_text(encoding="utf-8")
    assert "states of one private path" in text and "RashomonNetworkClassifier" in text
    assert "imported" not in text
    assert models.models.canonical.shape == models.parameters.shape


def test_the_release_edition_holds_the_measured_share_and_nothing_of_the_rows(models, tmp_path):
    def text(models):
        path = report(models, tmp_path / "card.html", interactive=False, overwrite=True)
        return unescape(path.read_text(encoding="utf-8"))

    changed = replace(models, losses=np.full(models.n_draws, 0.734), least=0.618)
    released, share = text(models.release()), models.released_share()
    assert released == text(changed.release()) and text(models) != text(changed)
    assert (
        f"No closeness is promised. Of 3 states with a released loss, {share.low:.0%}" in released
    )
    assert "no plan and no guarantee" not in released
    code = re.findall(r"<pre[^>]*><code>(.*?)</code>", released, re.DOTALL)[-1]
    names = {"X": X, "y": Y, "Network": Network}
    exec(code, names)
    assert names["models"].plan == models.plan


def test_statistics_of_rows_are_charged_once_and_compose_with_path_and_losses(tmp_path):
    ledger = rx.Ledger.create(tmp_path / "rows.ledger", epsilon=6.0, delta=1e-6)
    settings = {**STATES, "epsilon": 2.0, "classes": [0, 1], "ledger": ledger}
    clf = rx.RashomonNetworkClassifier(**settings).fit(X, Y)
    options = {"categories": ("a", "b"), "groups": np.where(X[:, 2] > 0, "a", "b")}
    options |= {"ledger": ledger, "epsilon": 2.0, "delta": 1e-6, "random_state": 0}
    queries = ["disagreement", "abstention", "mean_loss", "reliance", "mean_selection_gap"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 500 rows are few
        released = release(clf, X, Y, queries=queries, **options)
    total = adaptive_epsilon([clf.guarantee_, released.guarantee], 1e-6)
    assert [entry.state for entry in ledger.entries()] == ["committed", "committed"]
    assert ledger.spent() == pytest.approx(total) and total > 2.0
    path = report(clf.rashomon_set_.release(), tmp_path / "r.html", aggregates=[released])
    assert f"aggregates together: ε = {rounded_up(total)}" in path.read_text(encoding="utf-8")


def test_statistics_of_a_model_of_your_own_state_what_they_assume():
    class Own(Network):
        pass

    options = {"queries": ["mean_accuracy"], "epsilon": 9.0, "ledger": None}
    for model in (Own(()), Network(())):
        clf = rx.RashomonNetworkClassifier(model=model, **STATES).fit(X, Y)
        stated = release(clf, X, Y, **options).guarantee.assumptions
        assert (OWN_MODEL in stated) == isinstance(model, Own)


def test_a_schema_encodes_raw_tables_and_shapes_are_of_additive_models_alone():
    schema = TableSchema([Numeric("age", (0, 100)), Categorical("home", ["own", "rent"])])
    ages, homes = RNG.uniform(0, 100, 300), RNG.choice(["own", "rent"], 300)
    frame = pd.DataFrame({"age": ages, "home": homes})
    options = {**STATES, "schema": schema, "target_bounds": (0, 100)}
    reg = rx.RashomonNetworkRegressor(model="additive", **options).fit(frame, ages)
    models = reg.rashomon_set_.release()
    assert models.shape_functions().shape == (6, 3, 8, 1)
    np.testing.assert_allclose(models.predict(frame), reg.predict(frame))
    curve, rows = shape_table(models).loc["age"], np.zeros((8, 3))
    rows[:, 0] = curve.index  # of the scaled column
    form, bodies = (
        models.models.model,
        [models.models.split(theta)[0] for theta in models.parameters],
    )
    scores = np.stack([form.scores(body, rows, 1)[:, 0] for body in bodies])
    scores -= scores.mean(axis=1, keepdims=True)  # the other columns add the same to each row
    ends = [scores.min(axis=0), scores.mean(axis=0), scores.max(axis=0)]
    np.testing.assert_allclose(curve[["low", "mean", "high"]].T, ends, atol=1e-12)
    figure = plot_shapes(models)
    assert figure.layout.meta["view"] == "release" and "of 6 models" in figure.layout.title.text
    assert plot_shapes(reg.rashomon_set_).layout.meta["view"] == "curator"
    counts = rx.RashomonNetworkRegressor(loss="poisson", **options).fit(frame, ages.round())
    assert (counts.predict(frame) > 0).all()
    with pytest.raises(TypeError, match="use Additive"):
        counts.rashomon_set_.shape_functions()


def test_searches_and_private_tables_take_networks():
    networks = rx.RashomonNetworkClassifier(classes=[0, 1], n_draws=3, n_losses=3, n_steps=20)
    search = rx.PrivateSearch(networks, {"step_size": [0.01, 0.1]}, epsilon=8.0, random_state=0)
    found = search.fit(X, Y)
    assert found.guarantee_.epsilon(1e-6) <= 8.0 and found.predict(X).shape == Y.shape
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    table = rx.PrivateTable(networks, epsilon=8.0, random_state=0).fit(frame, Y)
    assert table.estimator_.rashomon_set_.release().guarantee.epsilon(1e-6) <= 8.0
