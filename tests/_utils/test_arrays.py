"""Losses, problems, chains and estimators on other libraries' arrays give what NumPy gives.

Each test runs on ``array_api_strict``, which refuses whatever the standard does not promise, and on
PyTorch and JAX where they are installed.
"""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import clone

from rashomon_explorer import DPClassifier, Ledger, RashomonClassifier
from rashomon_explorer._utils import arrays
from rashomon_explorer.exceptions import LedgerWarning
from rashomon_explorer.mechanisms import LangevinSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy.notions import computed_on
from rashomon_explorer.problem.clipped_rows import place_loss
from rashomon_explorer.problem.domains import Ball, Intersection
from rashomon_explorer.problem.losses import SoftmaxLoss, get_loss
from rashomon_explorer.problem.losses.kinked import AbsoluteLoss, HuberLoss, SmoothedHingeLoss
from rashomon_explorer.problem.losses.logistic import ClippedLogisticLoss
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.problem.thresholds import GaussianThreshold

LIBRARIES = [
    name for name in ("array_api_strict", "torch", "jax") if find_spec(name.replace("-", "_"))
]
LOSSES = [
    get_loss("logistic"),
    get_loss("hinge"),
    get_loss("squared"),
    SmoothedHingeLoss(smoothing=0.7),
    AbsoluteLoss(target_bound=0.8, tau=0.3),
    SoftmaxLoss(3),
    SoftmaxLoss(2),
    ClippedLogisticLoss(0.4),
    HuberLoss(most=0.3),
]
N, P = 45, 3  # no multiple of the groups in which rows come


@pytest.fixture(params=LIBRARIES)
def there(request):
    if request.param == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
    return arrays.ArrayBackend(request.param, "cpu" if request.param == "torch" else None)


def _rows(loss):
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((N, P))
    rows /= np.maximum(1, np.linalg.norm(rows, axis=1))[:, None]
    if loss.labels is None:
        return rows, rng.uniform(-1, 1, N)
    return rows, rng.choice(loss.labels, N)


def _models(loss, count=5):
    return np.random.default_rng(4).standard_normal((P * loss.outputs, count)) * 1.5


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.name}-{loss.outputs}")
@pytest.mark.parametrize("cells", [2**18, 32], ids=["whole", "in pieces"])
def test_a_placed_loss_is_the_loss(there, loss, cells):
    rows, targets = _rows(loss)
    known, risk = loss.empirical(rows, targets), place_loss(loss, rows, targets, there)
    if hasattr(risk, "table"):
        risk = replace(risk, table=replace(risk.table, cells=cells))
    theta = _models(loss)
    for one in (risk, risk.within(20.0), risk.within(1e6)):
        value, gradient = one.value_and_gradient(theta)
        np.testing.assert_allclose(value, known.value(theta), rtol=1e-13)
        np.testing.assert_allclose(one.value(theta), value, rtol=1e-13)
        np.testing.assert_allclose(gradient, known.value_and_gradient(theta)[1], atol=1e-14)
    np.testing.assert_allclose(risk.hessian(theta[:, 0]), known.hessian(theta[:, 0]), atol=1e-14)
    bound = known.curvature_bound()
    assert (risk.curvature_bound() is None) == (bound is None)
    if bound is not None:
        np.testing.assert_allclose(risk.curvature_bound(), bound, atol=1e-14)
    assert (risk.n, risk.p) == (known.n, known.p)


def test_models_that_are_there_get_an_answer_there(there):
    loss = get_loss("logistic")
    rows, targets = _rows(loss)
    problem = Problem(there.put(rows), targets, intercept=False, ridge=0.1)
    assert problem.arrays.library == there.library
    theta = _models(loss)
    value, gradient = problem.value_and_gradient(there.put(theta))
    assert arrays.is_foreign(value) and arrays.is_foreign(gradient)
    assert isinstance(problem.value(theta), np.ndarray)
    same = Problem(rows, targets, intercept=False, ridge=0.1)
    assert same.arrays is arrays.NUMPY
    np.testing.assert_allclose(arrays.to_host(value), same.value(theta), rtol=1e-13)
    np.testing.assert_allclose(problem.minimum.theta, same.minimum.theta, atol=1e-7)
    assert problem.minimum.gap <= problem.constants.gap_tolerance


def _target(threshold, psi=0.05, **options):
    rows, targets = _rows(get_loss("logistic"))
    problem = Problem(rows, targets, intercept=False, **options)
    return GibbsTarget(problem, beta=30.0, psi=psi, threshold=threshold)


CHAINS = {
    "smooth": (lambda: _target("smooth"), {}),
    "hard": (lambda: _target("hard"), {}),
    "none": (lambda: _target("hard", psi=0.0), {}),
    "gaussian": (lambda: _target(GaussianThreshold(scale=0.1, n_samples=3)), {}),
    "batches": (lambda: _target("smooth"), {"batch_size": 20}),
    "intersection": (lambda: _target("smooth", domain=Intersection(Ball(1.0), Ball(0.3))), {}),
}


@pytest.mark.parametrize("kind", CHAINS)
def test_chains_are_those_of_the_host_with_the_hosts_noise(there, kind):
    make, options = CHAINS[kind]
    sampler = LangevinSampler(1e-3, n_steps=12, n_chains=4, thin=6, **options)
    found = []
    for backend in (arrays.NUMPY, there):
        with arrays.array_backend(backend.library, device=backend.device):
            target = make()
        assert target.problem.arrays.library == backend.library
        rng = np.random.default_rng(7)
        batches = list(sampler.batches(target, rng))
        assert all(isinstance(batch.theta, np.ndarray) for batch in batches)
        mean = sampler.average(target, np.random.default_rng(7))
        *_, state = sampler.states(target, np.random.default_rng(7), first=batches[0].theta)
        numbers = [batches[-1].theta, batches[-1].losses, mean, state]
        found.append((numbers, rng.random()))
    (host, after), (device, after_there) = found
    assert after == after_there  # no draw more, no draw less
    for a, b in zip(host, device, strict=True):
        np.testing.assert_allclose(b, a, atol=1e-12)
    assert np.ptp(host[0]) > 0.01


PUBLIC = {"epsilon": 20.0, "delta": 1e-6, "n_draws": 2, "radius": 1.0, "ridge": 0.1}
METHODS = ["objective_perturbation", "output_perturbation", "langevin_average", "noisy_descent"]
METHODS += ["localised_gaussian", "unthresholded", "last_iterate"]
METHODS += [pytest.param("noisy_sgd", marks=pytest.mark.law)]


@pytest.mark.parametrize("method", METHODS)
def test_one_private_model_is_the_same_by_seed(there, method):
    rows, targets = _rows(get_loss("logistic"))
    loss = "hinge" if method == "noisy_sgd" else "logistic"
    asked = DPClassifier(mechanism=method, loss=loss, random_state=0, ridge=0.1)
    asked.set_params(epsilon=20.0, delta=1e-6)
    found = []
    for backend in (arrays.NUMPY, there):
        with arrays.array_backend(backend.library, device=backend.device):
            found.append(clone(asked).fit(rows, targets).encoded_coef_)
    np.testing.assert_allclose(found[1], found[0], atol=2.0**-19)


@pytest.mark.parametrize("mechanism", ["langevin_average", "ellipsoid", "exact", "langevin"])
def test_an_estimator_works_where_its_rows_are(there, mechanism):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (3_000, 2))
    y = (X[:, 0] > 0).astype(float)
    asked = RashomonClassifier(mechanism=mechanism, random_state=0, psi=0.1, **PUBLIC)
    here = asked.fit(X, y).rashomon_set_
    found = RashomonClassifier(**asked.get_params()).fit(there.put(X), there.put(y))
    np.testing.assert_allclose(found.rashomon_set_.coef, here.coef, atol=2.0**-19)
    assert found.guarantee_.rho == here.guarantee.rho
    said = f"sums over rows in double precision by {there.library}"
    assert any(line.startswith(said) for line in found.guarantee_.assumptions)
    assert not any("double precision by" in line for line in here.guarantee.assumptions)
    assert computed_on(found.guarantee_, there) == found.guarantee_  # said once
    assert found.predict(there.put(X)).shape == (3_000,)


def test_single_precision_has_no_certificate_and_costs_nothing(tmp_path):
    rows, targets = _rows(get_loss("logistic"))
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=30.0, delta=1e-5)
    with arrays.array_backend("array_api_strict", dtype="float32"):
        target = _target("smooth")
        asked = RashomonClassifier(mechanism="langevin_average", random_state=0, **PUBLIC)
        asked.set_params(ledger=ledger, classes=[-1, 1])
        with pytest.warns(LedgerWarning, match="single precision"):
            fitted = asked.fit(rows, targets)
    sampler = LangevinSampler(1e-3, n_steps=3)
    assert not sampler.certificate(target).holds
    assert not fitted.guarantee_.holds
    assert ledger.spent() == 0
    [batch] = list(replace(sampler, thin=3).batches(target, np.random.default_rng(0)))
    host = _target("smooth").problem
    np.testing.assert_allclose(batch.losses, host.value(batch.theta), rtol=1e-5)
    assert target.problem.minimum.gap <= host.constants.gap_tolerance


class HostOnly(type(get_loss("hinge"))):
    def empirical(self, rows, targets):
        return super().empirical(rows, targets)


STRICT = {"library": "array_api_strict"}


@pytest.mark.parametrize(
    ("settings", "work", "message"),
    [
        ({"library": "fortran"}, None, "must be one of"),
        ({**STRICT, "dtype": "float16"}, None, "dtype must be one of"),
        ({"library": "numpy", "device": "cuda"}, None, "NumPy has no device"),
        ({**STRICT, "device": "abacus"}, None, "makes no float64 array"),
        (STRICT, lambda: Problem([[0.5], [-0.5]], [1, -1], loss=HostOnly()), "on the host only"),
        (
            STRICT,
            lambda: LangevinSampler(1e-3, 3, precision="single").certificate(_target("smooth")),
            "not accounted for with a device",
        ),
        pytest.param(
            {"library": "cupy"},
            None,
            r"rashomon-explorer\[arrays\]",
            marks=pytest.mark.skipif(find_spec("cupy") is not None, reason="cupy is installed"),
        ),
    ],
)
def test_what_a_backend_cannot_do_is_refused(settings, work, message):
    with pytest.raises((ValueError, ImportError), match=message), arrays.array_backend(**settings):
        if work is not None:
            work()


def test_a_choice_ends_with_its_context_and_the_host_can_be_chosen(there):
    rows = there.put(np.eye(2))
    with arrays.array_backend("numpy"):
        assert arrays.backend_for(rows).on_host
    assert arrays.backend_for(rows).library == there.library
    assert arrays.backend_for(np.eye(2)) is arrays.NUMPY
    assert arrays.namespace(np.eye(2)) is np
    assert arrays.to_host(np.arange(3)).dtype.kind == "i"
