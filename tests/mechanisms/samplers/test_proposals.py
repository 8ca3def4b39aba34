"""Proposals of exact draws: they lie below the loss, their laws and masses, and what is caught."""

from dataclasses import replace
from unittest.mock import patch

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import gammaln
from scipy.stats import kstest, truncexpon, truncnorm

from rashomon_explorer.exceptions import EnvelopeError
from rashomon_explorer.mechanisms.base import to_public_grid
from rashomon_explorer.mechanisms.rejection import candidates, ellipsoid_minorant, plane
from rashomon_explorer.mechanisms.rejection import quadratic_minorant as bowls
from rashomon_explorer.mechanisms.rejection.candidates import (
    Face,
    FaceProposal,
    RadialProposal,
    UniformProposal,
)
from rashomon_explorer.mechanisms.rejection.envelope import Envelope, Neighbourhood, Shifted
from rashomon_explorer.mechanisms.rejection.plane import LineLaw, Plane
from rashomon_explorer.mechanisms.rejection.quadratic_minorant import BowlProposal, CutNormal, Rest
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers.localisation import LocalProblem
from rashomon_explorer.problem.domains import Ball, Intersection
from rashomon_explorer.problem.losses import SoftmaxLoss
from rashomon_explorer.problem.lower_bounds.quadratic import Bowl, Where
from tests.mechanisms.samplers import test_exact as draws
from tests.mechanisms.samplers.laws import LEVEL, agreement, small_problem
from tests.mechanisms.samplers.test_exact import ON_BOTH

LOSSES = ["logistic", "squared", "hinge", "smoothed_hinge", "absolute"]
BALL = {"p": 2, "radius": 4.0}
DISC = {"p": 2, "scale": 1.5}


def is_steep(tangent):
    """Whether the slope is more than a solver's rounding."""
    return np.linalg.norm(tangent.pull) > 1e-2


def below_plane(target):
    return plane.plane_proposals(target)[0].plane


@pytest.mark.parametrize(
    ("log_density", "low", "high", "law", "mass"),
    [
        (lambda t: -(t**2) / 2, -1.0, 3.0, truncnorm(-1, 3), None),
        (lambda t: -50 * t, 0.0, 2.0, truncexpon(b=100, scale=0.02), (1 - np.exp(-100)) / 50),
        (lambda t: 1e6 * t, 0.0, 1.0, None, None),
    ],
)
def test_a_line_law_is_sampled_exactly_and_its_mass_lies_just_above(
    log_density, low, high, law, mass
):
    line = LineLaw(log_density, low, high)
    peak = max(float(log_density(np.array([t]))[0]) for t in (low, 0.0 if low < 0 else low, high))
    true = mass or quad(
        lambda t: np.exp(log_density(np.array([t]))[0] - peak), low, high, points=[high - 1e-5]
    )[0] * np.exp(min(peak, 0.0))
    assert 0 <= line.log_mass - max(peak, 0.0) - np.log(true) < 0.02
    found = line.sample(4000, np.random.default_rng(0))
    assert low <= found.min() and found.max() <= high
    if law is not None:
        assert kstest(found, law.cdf).pvalue > LEVEL
        assert line.mean == pytest.approx(law.mean(), abs=1e-3)


@pytest.mark.parametrize("degrees", [1, 2, 30, 700])
def test_the_chi_square_that_is_cut(degrees):
    x = degrees * np.array([1e-3, 0.3, 0.79, 0.81, 1.0, 3.0])
    logs = [mpmath.log(mpmath.gammainc(degrees / 2, 0, cut / 2, regularized=True)) for cut in x]
    known = np.array(logs, dtype=float)
    below = plane.log_chi_square_below
    assert below(degrees, x) == pytest.approx(known, rel=1e-9, abs=1e-12)
    assert (np.diff(below(degrees, degrees * np.geomspace(1e-4, 4, 500))) >= 0).all()
    for cut, log in zip(x, known, strict=True):
        values = plane.cut_chi_square(degrees, np.full(4000, cut), np.random.default_rng(1))
        assert kstest(np.exp(below(degrees, values) - log), "uniform").pvalue > LEVEL
    assert plane.cut_chi_square(3, np.zeros(2), np.random.default_rng(0)).tolist() == [0.0, 0.0]


def weight_by_quadrature(rest, used):
    """Integral of exp(−½·precision·‖s‖²) over the ball of what room is left."""
    area = 2 * np.pi ** (rest.d / 2) / np.exp(gammaln(rest.d / 2))
    edge = np.sqrt(rest.square - used)
    return area * quad(lambda s: s ** (rest.d - 1) * np.exp(-rest.precision * s**2 / 2), 0, edge)[0]


@pytest.mark.parametrize("d", [1, 2, 7])
@pytest.mark.parametrize("precision", [0.0, 0.3, 40.0])
def test_what_the_rest_weighs_and_how_fast_that_falls(d, precision):
    rest = Rest(d, precision, square=4.0)
    used = np.array([0.0, 0.5, 2.0, 3.9])
    known = [np.log(weight_by_quadrature(rest, one)) for one in used]
    assert rest.log_weight(used) == pytest.approx(known, abs=1e-8)
    slopes = (rest.log_weight(used + 1e-6) - rest.log_weight(used)) / 1e-6
    assert rest.steepness(used) == pytest.approx(-2 * slopes, rel=1e-3, abs=1e-4)
    # Concave in what is used, or the tangents would not lie above.
    assert (np.diff(rest.log_weight(np.linspace(0, 3.999, 400)), 2) <= 1e-9).all()


CUT_NORMALS = [
    ([0.0], [0.0], 1, 0.0, 1.0),
    ([3.0], [0.0], 1, 0.0, 2.0),
    ([200.0], [0.0], 2, 0.0, 2.0),  # all at the sphere
    ([1.0], [5000.0], 2, 0.0, 2.0),  # all near a slice through the centre
    ([3.0, -1.0], [10.0, 0.5], 3, 0.5, 1.5),
    ([0.0, 40.0], [1e6, 80.0], 6, 80.0, 1.0),  # the ball hardly cuts
    ([30.0], [1e-9], 40, 1e-9, 4.0),
]


@pytest.mark.parametrize(("pull", "precision", "d", "rest", "radius"), CUT_NORMALS)
def test_cut_normal_laws_and_their_masses(pull, precision, d, rest, radius):
    """The last coordinate's marginal by quadrature: the others only take room."""
    law = CutNormal(np.array(pull), np.array(precision), d, rest, radius)
    rng = np.random.default_rng(0)
    t, length = zip(*(law.sample(4000, rng) for _ in range(12)), strict=True)
    t, length = np.hstack(t), np.hstack(length)
    assert (np.sum(t**2, axis=0) + length**2 <= radius**2 * (1 + 1e-12)).all()
    weight = Rest(d, rest, radius**2)
    if len(pull) == 1:
        near = np.geomspace(1, 1e-6, 400)
        places = np.concatenate([np.linspace(-1, 1, 4001), law.middle[0] / radius + near])
        places = np.append(places, law.middle[0] / radius - near)
        places = np.unique(np.clip(places * radius, -radius, radius))
        logs = weight.log_weight(places**2) - pull[0] * places - precision[0] * places**2 / 2
        density = np.exp(logs - logs.max())
        mass = np.log(np.trapezoid(density, places)) + logs.max()
        assert np.log(t.shape[1] / 48_000) + law.log_mass == pytest.approx(mass, abs=0.05)
        cumulative = np.append(0, np.cumsum(np.diff(places) * (density[1:] + density[:-1]) / 2))
        cumulative /= cumulative[-1]
        assert kstest(t[0, :3000], lambda x: np.interp(x, places, cumulative)).pvalue > LEVEL
    # Beside t the squared length has the law that its weight says.
    beside = weight.log_weight(np.sum(t[:, :3000] ** 2, axis=0))
    inner = weight.log_weight(radius**2 - length[:3000] ** 2)
    assert kstest(np.exp(inner - beside), "uniform").pvalue > LEVEL


@given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from(LOSSES),
    p=st.integers(1, 6),
    radius=st.floats(0.1, 20.0),
    ridge=st.sampled_from([0.0, 0.05, 3.0]),
)
def test_planes_lie_below_the_loss(seed, loss, p, radius, ridge):
    problem = small_problem(p, loss, radius, n=20, seed=seed, ridge=ridge, scale=1.5)
    rng = np.random.default_rng(seed)
    theta = problem.domain.uniform(p, 200, rng)
    excess = np.maximum(problem.value(theta) - problem.minimum.value, 0.0)
    for kept in {0.0, ridge}:
        one, other = (Plane.at(problem, theta[:, k], kept) for k in (0, 1))
        for tangent in (one, other, one.towards(other, rng.random())):
            assert (tangent.floor(theta) <= excess).all()


def test_more_ridge_than_there_is_would_lift_a_plane_above_the_loss():
    problem = small_problem(2, "hinge", radius=5.0, ridge=0.1, scale=1.5)
    theta = problem.domain.uniform(2, 500, np.random.default_rng(0))
    excess = problem.value(theta) - problem.minimum.value
    for kept, lies_below in ((0.1, True), (0.2, False)):
        floors = [Plane.at(problem, theta[:, k], kept).floor(theta) for k in range(20)]
        assert (np.max(floors, axis=0) <= excess).all() == lies_below


@given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from(LOSSES),
    p=st.integers(2, 6),
    radius=st.floats(0.1, 20.0),
    ridge=st.sampled_from([0.0, 0.05, 3.0]),
    beta=st.sampled_from([1e-3, 5.0, 200.0, 1e6]),
    psi=st.sampled_from([0.0, 0.02, 5.0]),
    threshold=st.sampled_from(["hard", "smooth"]),
)
@settings(max_examples=14)
def test_proposals_lie_above_the_target_everywhere(
    seed, loss, p, radius, ridge, beta, psi, threshold
):
    """Brute force: the floor below the loss, and the proposal's density above the floor's."""
    problem = small_problem(p, loss, radius, n=20, seed=seed, ridge=ridge, scale=1.5)
    target = GibbsTarget(problem, beta, psi, threshold if psi else "hard")
    theta = problem.domain.uniform(p, 300, np.random.default_rng(seed))
    theta[:, :100] *= radius * (1 - 1e-12) / np.linalg.norm(theta[:, :100], axis=0)
    excess = np.maximum(problem.value(theta) - problem.minimum.value, 0.0)
    proposal = bowls.least_bowl(target, below_plane(target))
    floor = proposal.floor(theta)
    assert (floor <= excess).all()
    t = proposal._basis.T @ theta
    energy = proposal._energy(t, np.linalg.norm(theta - proposal._basis @ t, axis=0))
    assert (energy <= target.energy(floor) * (1 + 1e-9) + 1e-9 * (1 + beta)).all()


def test_a_loss_that_may_fall_beyond_the_ellipsoid_of_a_bowl_has_no_bound_there():
    """A bowl far below the loss, on a small ellipsoid beside the minimiser."""
    problem = small_problem(2, "squared", radius=3.0, scale=1.5)
    target = GibbsTarget(problem, 60.0, 0.0)
    centre = np.zeros(2)
    height = float(target.excess(centre[:, None])[0]) / 2
    where = Where(centre, 0.05, centre, np.eye(2) * 1e-3, np.eye(2))
    proposal = ellipsoid_minorant.EllipsoidProposal(
        target, Bowl(height, centre, np.zeros((2, 2))), where
    )
    theta = problem.domain.uniform(2, 500, np.random.default_rng(0))
    theta = np.column_stack([theta, problem.minimum.theta, centre])
    floor = proposal.floor(theta)
    assert (floor <= np.maximum(target.excess(theta), 0.0)).all()
    energies = proposal._energy(np.linspace(0, 6, 500))
    assert (np.diff(energies) >= 0).all()  # as a radial law bounds each of its cells


DOMAINS = {
    "ball": lambda p, size: Ball(size),
    "lens": lambda p, size: Intersection(
        Shifted(Ball(size), (size / 2, *(0.0,) * (p - 1))), Ball(0.8 * size)
    ),
    "one_in_another": lambda p, size: Intersection(Ball(2 * size), Ball(size)),
    "two_balls": lambda p, size: Neighbourhood.of(
        Ball(size), np.full(p, 0.6 * size / np.sqrt(p)), 0.5 * size
    ),
}


@settings(max_examples=10)
@given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from(["logistic", "squared", SoftmaxLoss(2), "smoothed_hinge"]),
    name=st.sampled_from(["ball", "lens", "two_balls"]),
    p=st.integers(2, 6),
    size=st.floats(0.2, 20.0),
    beta=st.sampled_from([1.0, 60.0, 3e3, 1e6]),
    psi=st.sampled_from([0.0, 0.02]),
    ridge=st.sampled_from([0.0, 0.05]),
)
def test_bowls_on_an_ellipsoid_lie_below_the_loss_and_blocks_of_rows_too(
    seed, loss, name, p, size, beta, psi, ridge
):
    """Brute force around the minimiser and further out; energies of draws are below the floor's."""
    rng, domain = np.random.default_rng(seed), DOMAINS[name](p, size)
    wide = domain.domain if isinstance(domain, Neighbourhood) else domain
    truth = 3 * rng.standard_normal(p)
    problem = small_problem(p, loss, n=25, seed=seed, domain=wide, truth=truth, ridge=ridge)
    if isinstance(domain, Neighbourhood):
        problem = LocalProblem(problem, domain)
    target = GibbsTarget(problem, beta, psi)
    with patch.object(ellipsoid_minorant, "_BLOCK_ROWS", 6):
        near, blocks = ellipsoid_minorant.ellipsoid_proposal(target)
    spread = rng.standard_normal((p, 200)) * size * rng.random(200) ** 4
    theta = domain.project(problem.minimum.theta[:, None] + spread)
    theta = theta[:, domain.contains(theta)]
    drawn, energy = near.draw(200, rng)
    floor = near.floor(drawn)
    assert (energy <= target.energy(floor) * (1 + 1e-9) + 1e-9 * (1 + beta)).all()
    for models in (theta, drawn):
        excess = np.maximum(target.excess(models), 0.0)
        assert (near.floor(models) <= excess).all()
        within, total = near.contains(models), np.zeros(len(excess))
        for part, share, rest in zip(blocks.losses, blocks.shares, blocks.rest, strict=True):
            assert (total + rest.value(models) <= target.excess(models))[within].all()
            total += share * part.value(models)
        every = np.full(len(excess), np.inf)
        index, losses, looks = blocks.evaluate(target, models, every, within)
        assert looks == pytest.approx(len(index)) and len(index) == len(excess)
        np.testing.assert_allclose(losses, problem.value(models), rtol=1e-12)
        index, losses, looks = blocks.evaluate(target, models, target.energy(excess) - 1e-3, within)
        assert looks <= len(excess) and np.isin(np.flatnonzero(~within), index).all()


@pytest.mark.parametrize("settings", [BALL, {"p": 2, **ON_BOTH}])
def test_an_ellipsoid_proposal_has_the_mass_that_it_states(settings):
    """Its accepted share times its mass is the integral of the target over the disc."""
    target = GibbsTarget(small_problem(**settings), 60.0, 0.02)
    near, _ = ellipsoid_minorant.ellipsoid_proposal(target)
    theta, energy = near.draw(200_000, np.random.default_rng(0))
    weights = np.exp(energy - target.energy(np.maximum(target.excess(theta), 0.0)))
    radius = target.problem.domain.radius
    places = np.random.default_rng(1).uniform(-radius, radius, (2, 400_000))
    mass = np.exp(target.log_density(places)).mean() * (2 * radius) ** 2
    assert np.exp(near.log_mass) * weights.sum() / 200_000 == pytest.approx(mass, rel=0.02)


def test_bowls_of_later_rows_that_are_bent_too_much_change_the_law():
    """The control: early rejection is only as exact as its bowls."""
    target, honest = GibbsTarget(small_problem(**DISC), 60.0, 0.0), ellipsoid_minorant.RowBlocks.of

    def bent(problem, where):
        blocks = honest(problem, where)
        later = [replace(bowl, bend=2 * bowl.bend) for bowl in blocks.rest[1:]]
        return replace(blocks, rest=[blocks.rest[0], *later])

    assert agreement(draws.under_an_ellipsoid(target), target) > LEVEL
    with patch.object(ellipsoid_minorant.RowBlocks, "of", bent):
        assert agreement(draws.under_an_ellipsoid(target), target) < LEVEL


@pytest.mark.parametrize("threshold", ["hard", "smooth"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.999, 1.0])
def test_a_share_of_the_slope_lies_below_the_threshold(threshold, share):
    target = GibbsTarget(small_problem(2), 10.0, 0.05, threshold)
    losses = np.append(np.linspace(0, 0.2, 2001), 3.0)
    room = target.energy(losses) / 10.0 - share * losses + bowls._constant_of(target, share)
    assert -1e-12 < room.min() < 1e-6


@settings(max_examples=16)
@given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from(["logistic", "squared", SoftmaxLoss(2), "smoothed_hinge"]),
    name=st.sampled_from(sorted(DOMAINS)),
    p=st.integers(1, 5),
    size=st.floats(0.2, 20.0),
    beta=st.floats(0.01, 1e5),
    scale=st.floats(0.0, 8.0),
    ridge=st.sampled_from([0.0, 0.05]),
)
def test_envelope_and_faces_stay_below_the_loss(seed, loss, name, p, size, beta, scale, ridge):
    rng = np.random.default_rng(seed)
    domain = DOMAINS[name](p, size)
    wide = domain.domain if isinstance(domain, Neighbourhood) else domain
    truth = rng.standard_normal(p) * scale
    problem = small_problem(p, loss, n=25, seed=seed, domain=wide, truth=truth, ridge=ridge)
    if isinstance(domain, Neighbourhood):
        problem = LocalProblem(problem, domain)
    target = GibbsTarget(problem, beta, 0.01)
    envelope, tangent = Envelope.of(target), Envelope.of(target).tangent
    spread = rng.standard_normal((p, 200)) * size * rng.random(200)
    theta = domain.project(problem.minimum.theta[:, None] + spread)
    theta = theta[:, domain.contains(theta)]
    excess = np.maximum(target.excess(theta), 0.0)
    assert problem.minimum.gap <= problem.constants.gap_tolerance
    assert (envelope.sharper_floor(theta) <= excess).all()
    h, rounding = theta - envelope.centre[:, None], 1e-12 * (1 + problem.L * size)
    for pad in (envelope.least_pad, envelope.least_pad + 0.01, envelope.least_pad + 3.0):
        floor = envelope.floor(theta, pad)
        assert (floor <= excess).all()
        stretch = np.sqrt((envelope.curvature + pad) @ (envelope.vectors.T @ h) ** 2)
        assert (envelope.radial(stretch, pad) <= floor + rounding).all()
        assert stretch.max() <= envelope.furthest(pad) * (1 + 1e-9)
    pull = tangent.pull @ h
    assert (pull >= -tangent.gap - rounding).all()
    if is_steep(tangent):
        face = Face.of(problem, tangent)
        depth = face.pull @ theta + face.offset
        assert (depth >= -rounding).all()
        assert (depth <= pull + face.gap + rounding).all()
        assert depth.max() <= face.deepest + rounding


@pytest.mark.parametrize("settings", [BALL, {"p": 2, **ON_BOTH}, {"p": 1}])
@pytest.mark.parametrize("kind", ["uniform", "least", "padded", "face"])
def test_the_law_does_not_depend_on_the_proposal(kind, settings, monkeypatch):
    target = GibbsTarget(small_problem(**settings), 60.0, 0.005)
    envelope = Envelope.of(target)
    pad = envelope.least_pad + (0.0 if kind == "least" else 0.1)
    made = UniformProposal(target) if kind == "uniform" else RadialProposal(target, envelope, pad)
    if kind == "face" and is_steep(envelope.tangent):
        made = FaceProposal(target, envelope, Face.of(target.problem, envelope.tangent), pad)
    assert candidates.tightest_proposal(target, envelope).log_mass <= made.log_mass
    monkeypatch.setattr(candidates, "tightest_proposal", lambda *_: made)
    monkeypatch.setattr(candidates, "envelope_pays", lambda *_: True)
    assert agreement(draws.exact(target, 2000), target) > LEVEL


@pytest.mark.parametrize(("p", "ridge"), [(1, 0.4), (2, 0.0), (2, 0.4), (3, 0.4)])
@pytest.mark.parametrize("psi", [0.0, 0.05])
def test_masses_are_what_the_proposals_weigh(p, ridge, psi):
    target = GibbsTarget(small_problem(p, ridge=ridge, scale=1.5), 15.0, psi)
    domain = target.problem.domain
    for proposal in plane.plane_proposals(target):
        theta = domain.uniform(p, 100_000, np.random.default_rng(0))
        weights = np.exp(-proposal._energy(theta) + 20)
        log_mass = domain.log_volume_bound(p) + np.log(weights.mean()) - 20
        noise = weights.std() / weights.mean() / np.sqrt(weights.size)
        assert proposal.log_mass == pytest.approx(log_mass, abs=5 * noise + 0.01)


def with_envelope(target):
    return draws.exact(target, 500)


LOW, HIGH = "below its certified bound", "above the certified one"
SPOILED = {  # what is spoiled and how, the problem, the draws that meet it, and the message
    "envelope": (Envelope, "sharper_floor", lambda x: 1.3 * x, BALL, with_envelope, LOW),
    "on a lens": (Envelope, "sharper_floor", lambda x: 1.3 * x, ON_BOTH, with_envelope, LOW),
    "radial": (Envelope, "radial", lambda x: 1.3 * x, ON_BOTH, with_envelope, HIGH),
    "plane": (Plane, "at", lambda x: replace(x, height=x.height + 0.05), DISC,
              draws.under_a_plane, LOW),
    "bowl": (bowls, "above_minimum", lambda x: x.plus(0.05, 0.0), DISC, draws.under_a_bowl, LOW),
    "ellipsoid": (ellipsoid_minorant.EllipsoidProposal, "floor", lambda x: x + 0.05, BALL,
                  draws.under_an_ellipsoid, LOW),
    "its energy": (ellipsoid_minorant.EllipsoidProposal, "draw", lambda x: (x[0], x[1] + 0.5), BALL,
                   draws.under_an_ellipsoid, HIGH),
    "bowl's energy": (BowlProposal, "_energy", lambda x: x + 0.5, DISC, draws.under_a_bowl, HIGH),
    "convex weight": (Rest, "log_weight", lambda x: -3 * x, DISC, draws.under_a_bowl,
                      "above its tangent"),
}  # fmt: skip


@pytest.mark.parametrize("name", SPOILED)
def test_a_spoiled_bound_is_caught(name, monkeypatch):
    owner, method, spoil, settings, drawn, message = SPOILED[name]
    honest = getattr(owner, method)
    monkeypatch.setattr(owner, method, lambda *args: spoil(honest(*args)))
    target = GibbsTarget(small_problem(**{"p": 2, **settings}), 60.0, 0.02)
    with pytest.raises(EnvelopeError, match=message):
        drawn(target)


def test_a_density_that_is_not_concave_is_caught():
    wavy = LineLaw(lambda t: 3 * np.sin(2000 * t), 0.0, 1.0)
    with pytest.raises(EnvelopeError, match="not concave"):
        wavy.sample(4000, np.random.default_rng(0))


def test_a_small_number_below_zero_and_one_above_are_the_same_output():
    found = to_public_grid(np.array([-(2.0**-22), -0.0, 0.0, 2.0**-22]))
    assert found.tobytes() == np.zeros(4).tobytes()
    assert np.round(-(2.0**-22) * 2.0**20).tobytes() != np.zeros(1).tobytes()  # the control
    assert abs(to_public_grid(np.array([np.pi])) - np.pi)[0] <= 2**-21
