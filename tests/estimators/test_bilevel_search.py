"""DPBilevelSearch: scikit-learn's rules, the order of charge and look, and nothing unpaid."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from rashomon_explorer import DPBilevelSearch, Ledger
from rashomon_explorer.data import Categorical, Numeric, TableSchema
from rashomon_explorer.estimators.bilevel_search import refit_plan, refitted
from rashomon_explorer.exceptions import SamplerError, WeakGuaranteeWarning
from rashomon_explorer.mechanisms.costs import draws_guarantee
from rashomon_explorer.mechanisms.finite_grid import FiniteGridSampler
from rashomon_explorer.mechanisms.penalties import PenaltyConstants
from rashomon_explorer.mechanisms.penalties.mechanisms import validation_rows
from rashomon_explorer.privacy import compose
from rashomon_explorer.privacy.audit import discrete
from rashomon_explorer.problem.constants import row_bound

BOUNDS = (0.1, 10.0)
pytestmark = pytest.mark.filterwarnings(
    "ignore:more than 1 % of the:rashomon_explorer.exceptions.RowsClippedWarning",
    "ignore::rashomon_explorer.exceptions.PrivacyLeakWarning",
)


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) / 2
    return X, np.clip(X[:, 0] - X[:, 1] / 2 + rng.normal(size=n) / 5, -1, 1)


def wide_rows(n):
    X, y = rows(n)
    return np.column_stack([X, X[:, ::-1] / 2])[:, :5] / 2, y


def search(kind="ridge", **options):
    return DPBilevelSearch(
        kind, **{"bounds": BOUNDS, "target_bounds": (-1, 1), "row_norm": 1.0, **options}
    )


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("n_draws", [1, 7])
@pytest.mark.parametrize("refit", ["dp", None])
@pytest.mark.parametrize("charged", [True, False])
def test_the_price_is_never_more_than_was_asked(delta, n_draws, refit, charged, tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger") if charged else None
    asked = search(delta=delta, n_draws=n_draws, refit=refit, ledger=ledger, epsilon=0.7)
    planned = asked.plan(1000, 3)
    assert planned.guarantee.epsilon(delta) <= 0.7 * (1 + 1e-9)
    assert planned.guarantee.epsilon(delta) >= 0.6
    if planned.refit is not None:  # it is paid for beside the draws of penalties
        alone = draws_guarantee(planned.eta, n_draws, ledger=True)
        both = compose([alone, planned.refit.guarantee]).epsilon(delta)
        assert alone.epsilon(delta) < both == pytest.approx(planned.guarantee.epsilon(delta))
    halves = 2 if planned.mechanism == "generalised" else 1
    assert planned.beta == planned.eta / planned.constants.charged_range / halves
    if refit is None and n_draws == 1 and delta == 0:
        assert planned.eta == 0.7


def test_nothing_unpaid_is_kept():
    """A list of what a fit may leave: no score, no loss, no fit that was not drawn."""
    X, y = rows()
    fitted = search(n_draws=3).fit(X, y)
    kept = {name for name in vars(fitted) if name.endswith("_")}
    assert kept == {
        "best_params_", "rashomon_set_", "guarantee_", "plan_", "n_features_in_", "encoded_coef_",
        "encoded_intercept_",
    }  # fmt: skip
    assert set(vars(fitted.rashomon_set_)) == {"penalties", "names", "plan", "guarantee", "walks"}
    assert fitted.rashomon_set_.walks is None
    alone = search(refit=None).fit(X, y)
    assert not hasattr(alone, "predict") and not hasattr(alone, "encoded_coef_")
    assert not hasattr(fitted, "cv_results_") and not hasattr(fitted, "best_score_")
    with pytest.raises(AttributeError) as refused:
        alone.predict  # noqa: B018
    assert "a model has a privacy cost of its own" in str(refused.value.__cause__)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["penalty"]),
        ({"penalty": "group", "groups": [[0, 2], [1]]}, ["x0+x2", "x1"]),
        ({"penalty": "feature"}, ["x0", "x1", "x2"]),
    ],
)
def test_penalties_are_named_and_lie_on_the_public_grid(options, names):
    X, y = rows(60)
    fitted = search(**options, n_draws=2, refit=None).fit(X, y)
    assert [*fitted.best_params_] == names
    steps = np.log(fitted.rashomon_set_.penalties) / fitted.plan_.spacing
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    assert (fitted.rashomon_set_.penalties >= BOUNDS[0] * (1 - 1e-12)).all()


def test_at_a_huge_price_it_is_ordinary_tuning():
    """The penalty of least validation loss on the public split, and the fit with it."""
    X, y = rows(300)
    X = X / np.maximum(1, np.linalg.norm(X, axis=1))[:, None]
    asked = search(bounds=(1e-3, 1.0), epsilon=1e9, delta=0.0, random_state=0)
    fitted = asked.fit(X, y)
    held_out = validation_rows(300, 0.3)
    whole = np.column_stack([X, np.ones(300)])

    def fit(side, penalty):
        Z, scale = whole[side], np.diag([penalty] * 4)
        return np.linalg.solve(Z.T @ Z / side.sum() + scale, Z.T @ y[side] / side.sum())

    grid = np.geomspace(1e-3, 1.0, 33)
    losses = [
        ((np.clip(whole[held_out] @ fit(~held_out, k), -1, 1) - y[held_out]) ** 2).mean()
        for k in grid
    ]
    landscape = asked._landscape(whole, y, fitted.plan_)
    points = FiniteGridSampler(spacing=fitted.plan_.spacing).points(landscape.p, landscape.domain)
    penalties = landscape.box.group_penalties(points)[0]
    np.testing.assert_allclose(penalties, grid)
    np.testing.assert_allclose(landscape.value(points), np.array(losses) / 2, rtol=1e-6)
    best = grid[int(np.argmin(losses))]
    assert fitted.best_params_["penalty"] == pytest.approx(best, rel=1e-9)
    every = np.ones(300, dtype=bool)
    np.testing.assert_allclose(
        [*fitted.encoded_coef_, fitted.encoded_intercept_], fit(every, best), atol=0.02
    )


@pytest.mark.parametrize(
    ("n", "bounds", "taken", "why"),
    [
        (100_000, (0.1, 10.0), "exponential", "the exponential mechanism guarantees an excess"),
        (5_000, (0.001, 10.0), "generalised", "on average a record moves a comparison"),
        (40, (0.5, 1.0), "exponential", "most pairs of penalties by about the maximum"),
    ],
)
def test_the_mechanism_is_chosen_by_public_numbers_and_says_why(n, bounds, taken, why):
    planned = search("logistic", bounds=bounds, refit=None).plan(n, 3)
    assert planned.mechanism == taken and why in planned.why and "chosen" in repr(planned)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"bounds": None}, "bounds of the penalties are missing"),
        ({"bounds": (1.0, 0.1)}, "low < high"),
        ({"spacing": 1.0}, "spacing"),
        ({"spacing": 1.0001}, "each is a fit"),
        ({"penalty": "group"}, "groups is required with penalty='group'"),
        ({"penalty": "group", "groups": [[0, 1]]}, "each of the 3 features once"),
        ({"penalty": "group", "groups": [[0], [1], [2], [3]]}, "each of the 3 features once"),
        ({"mechanism": "regularised"}, "private only where the validation loss is convex"),
        ({"mechanism": "best"}, "mechanism"),
        ({"kind": "logistic", "classes": [0, 1, 2]}, "Only binary classification"),
    ],
)
def test_bad_settings_are_refused_before_a_charge(options, reason, tmp_path):
    ledger = Ledger.create(tmp_path / "data.ledger", epsilon=1.0, delta=1e-6)
    with pytest.raises((ValueError, SamplerError), match=reason):
        search(**options, ledger=ledger).fit(*rows(30))
    assert ledger.entries() == []


def test_a_grid_of_too_many_penalties_is_refused():
    with pytest.raises(SamplerError, match="4 penalties were requested, but a grid takes at most"):
        search(penalty="feature").plan(100, 4)


@pytest.mark.parametrize("mechanism", ["exponential", "generalised"])
def test_a_weak_plan_warns_and_what_it_suggests_suffices(mechanism):
    named = {"refit": None, "mechanism": mechanism, "delta": 0.0}
    with pytest.warns(WeakGuaranteeWarning, match="Use about .* times the rows"):
        weak = search(**named, epsilon=0.1).plan(300, 3)
    assert weak.weakness in repr(weak)
    times = float(weak.suggestion.split()[2].replace(",", ""))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        enough = search(**named, epsilon=0.1 * times).plan(300, 3)
    assert enough.weakness == ""
    assert enough.excess_within(0.9) <= enough.constants.zero_loss / 2 * (1 + 1e-9)


def test_targets_and_labels_come_back_as_declared():
    X, y = rows(300)
    numbers = search(target_bounds=(0.0, 200.0), epsilon=1e6, random_state=0)
    found = numbers.fit(X, 100 + 100 * y).predict(X)
    assert np.corrcoef(found, y)[0, 1] > 0.8 and found.mean() == pytest.approx(100, abs=20)
    columns = [Numeric("age", (0, 100)), Categorical("home", ["own", "rent"])]
    schema = TableSchema([*columns, Categorical("paid", ["no", "yes"], role="target")])
    frame = pd.DataFrame({"age": [20.0, 60.0] * 30, "home": ["own", "rent"] * 30})
    fitted = search("logistic", schema=schema, epsilon=100.0).fit(frame, ["no", "yes"] * 30)
    assert set(fitted.predict(frame)) <= {"no", "yes"}
    assert fitted.predict_proba(frame).shape == (60, 2)


def test_a_refit_with_a_budget_without_end_is_the_penalised_minimum():
    """A model of the rows as they are, however its penalties scale the columns."""
    rng = np.random.default_rng(0)
    design = np.column_stack([rng.uniform(-0.7, 0.7, (900, 2)), np.ones(900)])
    targets = np.where(design[:, 0] - design[:, 1] + rng.normal(0, 0.3, 900) > 0, 1.0, -1.0)
    penalties = np.array([0.2, 1.0, 0.05])
    known = PenaltyConstants("logistic", 1.5, 0.05, 1.0, 600, 300)
    planned = refit_plan(known, 3, 1.0, epsilon=1e6, delta=0.0)

    def energy(theta):
        losses = np.logaddexp(0, -targets * (design @ theta))
        return float(losses.mean() + penalties @ theta**2 / 2)

    best = minimize(energy, np.zeros(3), tol=1e-12).x
    found = refitted(planned, design, targets, penalties, row_bound(1.0, intercept=True), rng)
    np.testing.assert_allclose(found, best, atol=0.02)
    assert np.abs(best - best / np.sqrt(0.05 / penalties)).max() > 0.1, "scales that do not matter"


def excess_and_law(asked, X, y):
    """Excess losses of the grid's points, and their log weights, exactly as a fit draws them."""
    planned = asked.plan(*X.shape)
    whole = np.column_stack([X, np.ones(len(X))])
    landscape = asked._landscape(whole, y, planned)
    sampler = FiniteGridSampler(spacing=planned.spacing)
    values = landscape.value(sampler.points(landscape.p, landscape.domain))
    excess = values - values.min()
    return excess, -planned.target(landscape, sampler).energy(excess)


def test_penalties_within_psi_are_equally_likely():
    X, y = rows(40)
    asked = search(psi=0.01, delta=0.0, refit=None, mechanism="exponential")
    excess, weights = excess_and_law(asked, X, y)
    beta = asked.plan(*X.shape).beta
    np.testing.assert_allclose(weights, -beta * np.maximum(excess - 0.01, 0), atol=1e-9)
    assert 1 < (weights == 0).sum() < len(weights)


@pytest.mark.parametrize("mechanism", ["exponential", "generalised"])
@pytest.mark.parametrize("kind", ["ridge", "logistic"])
def test_no_record_of_either_side_changes_the_draw_by_more_than_its_price(kind, mechanism):
    X, y = rows(8, seed=5)
    X, y = X / np.linalg.norm(X, axis=1)[:, None], np.sign(y)
    asked = search(kind, epsilon=2.0, delta=0.0, refit=None, mechanism=mechanism)
    first = excess_and_law(asked, X, y)[1]
    for place in range(8):
        for row in (X[place], -X[place])[: 1 + place % 2]:
            moved, flipped = X.copy(), y.copy()
            moved[place], flipped[place] = row, -y[place]
            audit = discrete(first, excess_and_law(asked, moved, flipped)[1])
            assert 0 < audit.range <= 2.0 and audit.epsilon(0.0) <= 2.0


@pytest.mark.parametrize("mechanism", ["hypergradient", "warm_hypergradient", "gradient_norm"])
def test_mechanisms_by_gradients_are_fitted_priced_and_keep_what_is_paid(mechanism, tmp_path):
    X, y = wide_rows(300)
    groups = [[0, 1, 2], [3, 4]]
    asked = search(
        penalty="group", groups=groups, mechanism=mechanism, n_draws=2, random_state=0,
        ledger=Ledger.create(tmp_path / "a.ledger", epsilon=1.0, delta=1e-6), epsilon=0.9,
    )  # fmt: skip
    fitted = asked.fit(X, y)
    (entry,) = asked.ledger.entries()
    assert entry.state == "committed" and entry.parameters["mechanism"] == mechanism
    assert 0.8 <= asked.ledger.spent() <= 0.9 and entry.guarantee == fitted.guarantee_
    drawn, low, high = fitted.rashomon_set_, *BOUNDS
    assert drawn.penalties.shape == (2, 2) and fitted.predict(X).shape == (300,)
    assert (drawn.penalties >= low * (1 - 1e-9)).all() and (drawn.penalties <= high).all()
    if mechanism == "gradient_norm":
        assert drawn.walks is None
    else:
        assert drawn.walks.shape == (2, fitted.plan_.n_steps, 2)
        assert all(row in drawn.walks[k] for k, row in enumerate(drawn.penalties))


def test_five_penalties_are_walked_to_by_public_numbers():
    asked = search("logistic", penalty="feature", bounds=(1.0, 10.0), refit=None)
    planned = asked.plan(200_000, 5)
    assert planned.mechanism == "warm_hypergradient"
    assert "a grid takes at most 3" in repr(planned)
    offers = {one.mechanism: one for one in asked.mechanisms(200_000, 5)}
    assert offers["warm_hypergradient"].gradient == planned.gradient_bound
    assert "a grid takes at most 3" in offers["exponential"].why_not
    assert search(refit=None).mechanisms(1000, 2)[0].excess is not None
    for mechanism in ("hypergradient", "warm_hypergradient"):  # a walk beside a pure refit
        beside = search(mechanism=mechanism, epsilon=1.0, bounds=(0.5, 10.0)).plan(30, 2)
        assert beside.mu > 0 and beside.guarantee.epsilon(1e-6) <= 1.0
