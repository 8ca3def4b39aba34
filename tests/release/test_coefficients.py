"""Coefficients with error bars: closed forms, neighbours, noise by simulation, coverage."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from rashomon_explorer import Ledger, RashomonClassifier
from rashomon_explorer.measures import exact_ranges
from rashomon_explorer.problem.problem import add_intercept
from rashomon_explorer.release import plan_release, release
from rashomon_explorer.release.coefficients import _PARTS, Coefficients, _parts
from rashomon_explorer.release.losses import posed_problem
from rashomon_explorer.release.query import PublicShape, Rows
from rashomon_explorer.release.released import from_released_values, released_values
from rashomon_explorer.release.statistic import Noise
from tests.release.cases import B, largest_changes, models_of, records_of, table_of

# That the noise may hide them has tests of its own.
pytestmark = pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.HiddenAnswerWarning")
LINKS = {"logistic": "logistic", "squared": "identity"}
NO_NOISE = {"rho": 5e13, "ledger": None}


def _models(loss, start, ridge=0.0, radius=4.0, psi=0.02):
    """One public draw, at which the steps start."""
    models = models_of(LINKS[loss], coef=[start], n_features=len(start) - 1)
    return replace(models, plan=models.plan.with_numbers(radius=radius, ridge=ridge, psi=psi))


def _population(loss, width=4, n_rows=3_000):
    """A table that stands for the population; no linear model is its law."""
    rng = np.random.default_rng(9)
    X = rng.uniform(-1, 1, (n_rows, width - 1))
    X *= np.minimum(1, B / np.linalg.norm(X, axis=1))[:, None]
    scores = X @ np.linspace(1.2, -0.6, width - 1)
    spread = 0.5 + np.abs(X[:, 0])
    if loss == "logistic":
        return X, (scores + 0.3 + rng.logistic(size=n_rows) * spread > 0).astype(int)
    return X, 1 + 3 * np.clip(0.3 * scores + 0.2 * rng.uniform(-1, 1, n_rows) * spread, -1, 1)


def _best(loss, X, y, ridge=0.0):
    """Minimiser, and standard errors by the sandwich."""
    Z, n = add_intercept(X), len(X)
    signs, target, eye = 2 * y - 1, (y - 1) / 3, np.eye(X.shape[1] + 1)

    def slopes(theta):
        return Z @ theta - target if loss == "squared" else -signs * expit(-signs * (Z @ theta))

    def gradient(theta):
        return Z.T @ slopes(theta) / n + ridge * theta

    def hessian(theta):
        chance = expit(Z @ theta)
        weights = np.ones(n) if loss == "squared" else chance * (1 - chance)
        return Z.T @ (weights[:, None] * Z) / n + ridge * eye

    theta = np.zeros(Z.shape[1])
    for _ in range(30):
        theta -= np.linalg.solve(hessian(theta), gradient(theta))
    inverse = np.linalg.inv(hessian(theta))
    spread = np.cov(Z.T * slopes(theta), bias=True)
    return theta, np.sqrt(np.diag(inverse @ spread @ inverse) / n), inverse


@pytest.mark.parametrize(
    ("loss", "ridge"), [("logistic", 0.0), ("squared", 0.0), ("logistic", 0.1)]
)
def test_without_noise_they_are_the_minimiser_and_its_sandwich(loss, ridge):
    X, y = _population(loss)
    theta, errors, inverse = _best(loss, X, y, ridge)
    models = _models(loss, theta + 0.2, ridge)
    found = list(release(models, X, y, queries=["coefficients"], **NO_NOISE))
    assert [one.name for one in found] == [*(f"coefficient of x{j}" for j in range(3)), "intercept"]
    assert np.allclose([one.value for one in found], theta, atol=1e-4)
    assert np.allclose([one.rows_error for one in found], errors, rtol=1e-3)
    assert np.allclose([one.choice for one in found], np.sqrt(0.04 * np.diag(inverse)), rtol=1e-3)
    assert all(one.standard_error < 1e-5 for one in found)


def test_the_models_within_psi_reach_as_far_as_the_exact_ranges_say():
    """Exactly for the squared loss, by a few per cent for the logistic one."""
    for loss, off in (("squared", 1e-4), ("logistic", 0.05)):
        X, y = _population(loss)
        models = _models(loss, _best(loss, X, y)[0])
        rows = Rows.read(PublicShape(models, len(X), True), X, y, None)
        ranges = exact_ranges(posed_problem(rows, 4.0, 0.0), 0.02)
        found = list(release(models, X, y, queries=["coefficients"], **NO_NOISE))
        widths = (ranges["high"] - ranges["low"]).to_numpy()
        assert np.allclose([2 * one.choice for one in found], widths, rtol=off)
        ends = f"{found[0].value - found[0].choice:.3g} to {found[0].value + found[0].choice:.3g}"
        assert f"within ψ = 0.02 models reach from {ends}" in found[0].note


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_no_neighbour_moves_a_step_by_more_than_declared_and_half_is_too_little(loss):
    models = _models(loss, [1.0, -0.5, 0.3])
    for n_rows in (1, 4):
        change = largest_changes([Coefficients()], models, n_rows)["coefficients"]
        assert 0.6 < change.l2 <= 1 + 1e-9 and change.l1 <= 1 + 1e-9


def test_the_steps_share_one_budget_and_each_is_charged_its_sensitivity(monkeypatch):
    """With the same noisy values as before, no step's next values move further than declared."""
    models = _models("logistic", [1.0, -0.5, 0.3])
    records = records_of(models)
    public, runs = PublicShape(models, 3, True), []
    for one in records:
        rows, steps = Rows.read(public, *table_of([one, *records[:2]])), []

        def fixed(values, sensitivity, steps=steps):
            steps.append((values, sensitivity.l2))
            return np.random.default_rng(len(steps)).normal(size=len(values))

        Coefficients().noisy(rows, Noise(1.0), fixed)
        runs.append(steps)
    assert sum(l2**2 for _, l2 in runs[0]) == pytest.approx(Coefficients().sensitivity(public).l2)
    for parts in zip(*runs, strict=True):
        values, (l2, *_) = np.array([value for value, _ in parts]), [one for _, one in parts]
        apart = np.linalg.norm(values[:, None] - values[None], axis=2).max()
        assert 0.6 * l2 < apart <= l2 * (1 + 1e-9)


@pytest.mark.parametrize(("loss", "start", "mu"), [("squared", 3.0, 5.0), ("logistic", 3.0, 20.0)])
def test_the_standard_error_is_the_spread_of_the_noise(loss, start, mu, monkeypatch):
    """On the same rows; from afar the noise in the Hessian is most of it."""
    monkeypatch.setattr("rashomon_explorer.release.coefficients._STEPS", (1.0,))
    X, y = _population(loss)
    models = _models(loss, _best(loss, X, y)[0] + [start, 0, 0, 0], radius=8.0)
    settings = {"queries": ["coefficients"], "rho": mu**2 / 2, "ledger": None}
    found = [list(release(models, X, y, **settings, random_state=k)) for k in range(90)]
    values = np.array([[one.value for one in each] for each in found])
    errors = np.array([[one.standard_error for one in each] for each in found])
    assert np.allclose(values.std(axis=0), errors.mean(axis=0), rtol=0.2)


def test_what_the_noise_hides_is_not_known(tmp_path):
    X, y = _population("logistic")
    theta = _best("logistic", X, y)[0]
    ledger = Ledger.create(tmp_path / "people.ledger", epsilon=90.0, delta=1e-6)
    settings = {"queries": ["coefficients"], "ledger": ledger, "random_state": 0}
    hidden = release(_models("logistic", theta), X, y, **settings, rho=4e-3)
    (note,) = {one.note.split(":")[0] for one in hidden}
    assert note == "the noise hides the curvature of the loss"
    assert math.isnan(hidden["intercept"].estimate) and hidden["intercept"].interval() == (-4, 4)
    assert hidden.guarantee.rho == pytest.approx(4e-3) and hidden.charge == 1
    assert repr(from_released_values(released_values(hidden))) == repr(hidden)
    small = _models("logistic", 0.3 * theta, radius=0.5)
    sphere = release(small, X, y, **settings, rho=5.0)
    (note,) = {one.note for one in sphere}
    assert note == "the best model may lie on the sphere: use a larger radius"
    far = release(_models("logistic", -2.5 * theta), X, y, **{**settings, "ledger": None}, rho=0.5)
    assert "the start is too far away" in far["coefficient of x0"].note


def test_after_a_long_step_intervals_are_wider_by_a_bound_and_hold_the_coefficient():
    """From 0, without draws: a fifth of the coefficients were NaN, and none is."""
    slopes, widened, held = [2.0, -1.0, 0.0, 0.3], [], []
    every = RashomonClassifier(psi=0.02, classes=(0, 1), row_norm=1.0, radius=8.0)
    for k in range(20):
        rng = np.random.default_rng(100 + k)
        X = rng.uniform(-0.55, 0.55, (4_000, 3))
        y = (add_intercept(X) @ slopes + rng.logistic(size=4_000) > 0).astype(int)
        settings = {"queries": ["coefficients"], "ledger": None, "random_state": k}
        for one, true in zip(release(every, X, y, **settings, rho=0.125), slopes, strict=True):
            low, high = one.interval(0.9)
            half = 1.6449 * math.hypot(one.standard_error, one.rows_error)
            assert not one.doubt and (high - low) / 2 == pytest.approx(half + one.bias, rel=1e-3)
            assert ("wider by" in one.note) == (one.bias > 0)
            widened.append(one.bias > 0)
            held.append(low <= true <= high)
    assert 0.05 < np.mean(widened) < 0.6 and np.mean(held) > 0.9


@pytest.mark.parametrize(
    ("link", "settings", "words"),
    [
        ("logistic", {"epsilon": 1.0}, "needs Gaussian noise, which pure DP does not have"),
        ("logistic", {"rho": 1e-4}, r"would be hidden by the noise, whatever 500 rows say: use \d"),
        ("logistic", {"standard_error": 0.1}, "no single standard_error"),
        ("sign", {"rho": 0.1}, "supports the losses .* which have a Hessian"),
        ("softmax", {"rho": 0.1}, "one score, got one for each class"),
    ],
)
def test_a_plan_refuses_models_and_budgets_without_such_error_bars(link, settings, words):
    with pytest.raises(ValueError, match=words):
        plan_release(models_of(link), 500, queries=["coefficients"], **settings)


def test_noise_may_be_exact():
    pytest.importorskip("opendp", reason="secure noise needs the extra [secure]")
    X, y = _population("squared")
    models = _models("squared", _best("squared", X, y)[0])
    found = release(models, X, y, queries=["coefficients"], rho=0.5, ledger=None, secure=True)
    assert found.guarantee.notion == "zcdp" and found.guarantee.rho == pytest.approx(0.5)
    assert all(0 < one.standard_error < 0.1 and not one.doubt for one in found)


COVERAGE = {
    "logistic": ("logistic", 4_000, 0.0, 0.5, 4), "ridge": ("logistic", 10_000, 0.02, 0.3, 4),
    "wide": ("logistic", 12_000, 0.0, 0.4, 7), "squared": ("squared", 4_000, 0.0, 0.3, 4),
}  # fmt: skip


@pytest.mark.law
@pytest.mark.parametrize("name", COVERAGE)
def test_nine_tenths_of_the_intervals_hold_the_populations_coefficient(name):
    """Of 400 tables with a draw each; noise alone, and with the ridge its bias, are not enough."""
    loss, n, ridge, mu, width = COVERAGE[name]
    population, rng = _population(loss, width), np.random.default_rng(0)
    theta, without = (_best(loss, *population, r)[0] for r in (ridge, 0.0))
    found = []
    for _ in range(400):
        rows = rng.integers(0, 3_000, n)
        models = _models(loss, theta + 0.2 * rng.normal(size=width), ridge)
        X, y = population[0][rows], population[1][rows]
        found.append(
            list(release(models, X, y, queries=["coefficients"], rho=mu**2 / 2, ledger=None))
        )
    known = np.array([[not one.doubt for one in each] for each in found])
    low, high = np.moveaxis([[one.interval(0.9) for one in each] for each in found], 2, 0)
    assert known.mean() > 0.8
    assert ((low <= theta) & (theta <= high))[known].mean() == pytest.approx(0.91, abs=0.03)
    if ridge:
        assert ((low <= without) & (without <= high))[known].mean() < 0.5
    for part in ("standard_error", "rows_error")[loss == "squared" :]:
        half = 1.6449 * np.array([[getattr(one, part) for one in each] for each in found])
        assert (np.abs((low + high) / 2 - theta) <= half)[known].mean() < 0.88


@pytest.mark.law
def test_intervals_leave_out_the_bias_by_clipping():
    """Rows of twice the row norm: the clipped rows' coefficient is held, the true one is not."""
    rng, held, true = np.random.default_rng(1), [], []
    X = 2 * B * rng.choice([-1, 1], (6_000, 1)) * rng.uniform(0.5, 1, (6_000, 1))
    y = (X[:, 0] + rng.logistic(size=6_000) > 0).astype(int)
    clipped = np.clip(X, -B, B)
    theta, wanted = _best("logistic", clipped, y)[0][0], _best("logistic", X, y)[0][0]
    for _ in range(200):
        rows = rng.integers(0, 6_000, 4_000)
        models = _models("logistic", [1.0, 0.0])
        slope, _ = release(models, X[rows], y[rows], queries=["coefficients"], rho=0.5, ledger=None)
        low, high = slope.interval(0.9)
        held.append(low <= theta <= high)
        true.append(low <= wanted <= high)
    assert np.mean(held) == pytest.approx(0.9, abs=0.05) and np.mean(true) < 0.1


@pytest.mark.parametrize(("part", "entries"), [(1, slice(3, 9)), (2, slice(9, 15))])
def test_orthogonal_records_attain_the_sensitivity_of_hessian_and_second_moments(part, entries):
    """At zero both are ¼zzᵀ: z = (x, 1) and (−x, 1) with ‖x‖ = 1 move them by √2·¼‖z‖²."""
    models, zeros = _models("logistic", [0.0, 0.0, 0.0]), np.zeros(3)
    bound = models.row_norm
    public = PublicShape(models, 1, True)
    both = [
        _parts(Rows.read(public, np.array([[sign * bound, 0.0]]), np.array([1.0]), None), zeros)
        for sign in (1, -1)
    ]
    change = (both[0] - both[1])[entries]
    z = np.array([bound, 0.0, 1.0])
    apart = np.linalg.norm(np.outer(z, z) - np.outer(z * [-1, 1, 1], z * [-1, 1, 1])) / 4
    limit = math.sqrt(2) * (bound**2 + 1) / 4
    whole = math.sqrt(_PARTS[part])
    assert np.linalg.norm(change) == pytest.approx(whole * apart / limit, rel=1e-9)
    assert 0.9 < apart / limit <= 1 + 1e-9
