"""No neighbour moves a query by more than it declares, and where tight some pair does."""

import itertools

import numpy as np
import pytest

from rashomon_explorer.networks import Network
from rashomon_explorer.networks.losses import Logistic, Ordinal, Poisson, Squared
from rashomon_explorer.privacy import audit, pure
from rashomon_explorer.release import Excess, GroupGaps, Losses, Reliance, SoftHits, plan, release
from rashomon_explorer.release.catalogue import QUERIES, get_query
from rashomon_explorer.release.multiplicity import MultiplicityQuery, score_width
from rashomon_explorer.release.query import PublicShape, Rows, Sensitivity
from rashomon_explorer.release.statistic import Noise
from rashomon_explorer.sets import ReleasedTrees
from rashomon_explorer.sets.models.trees import DecisionTrees, Leaf
from tests.release import cases
from tests.release.cases import CATEGORIES, B, largest_changes, models_of, records_of, table_of

REGRESSION = (
    *("range_width", "score_variance", "score_std", "reliance", "group_sizes"),
    *("losses", "mean_loss", "least_loss", "largest_loss"),
)
LINKS = {"logistic": 3, "sign": 3, "softmax": 2, "identity": 3}  # and how many draws


def _queries(link, n_rows):
    names = list(REGRESSION if link in ("identity", "counts") else QUERIES)
    own = ("psi_", "score_threshold", "coefficients")  # tests of their own
    names = [name for name in names if not name.startswith(own)]
    if n_rows == 1:
        names.remove("reliance")
    if link == "sign":
        names.remove("rashomon_capacity")
    found = [get_query(name) for name in names]
    found.append(MultiplicityQuery("delta_ambiguity", tolerance=0.1))
    found.append(MultiplicityQuery("delta_discrepancy", tolerance=0.1))
    found += [Reliance("each"), Reliance("largest")] if n_rows > 1 else []
    if link in ("logistic", "identity"):
        found += [Excess(radius=4.0, over=over) for over in ("each", "largest")]
        found += [SoftHits(radius=4.0, width=12.0, psi=1.0)]
    return found


@pytest.mark.parametrize(
    ("link", "n_rows", "n_rests"),
    [
        *((link, 1, 1) for link in LINKS),
        *((link, 4, 1) for link in LINKS if link != "softmax"),
        *(pytest.param(link, 4, 6, marks=pytest.mark.law) for link in LINKS),
    ],
)
def test_no_neighbour_moves_a_query_by_more_than_declared(link, n_rows, n_rests):
    # Three draws of softmax are nine score vectors and six times as many pairs of records as two.
    models = models_of(link, n_draws=3 if n_rests > 1 else LINKS[link])
    changes = largest_changes(_queries(link, n_rows), models, n_rows, n_rests)
    for name, change in changes.items():
        assert change.l1 <= 1 + 1e-9, (name, change)
        assert change.l2 <= 1 + 1e-9, (name, change)


class Broken(Network):
    """A user's model that has no finite score for some rows."""

    def scores(self, theta, rows, n_outputs):
        scores = super().scores(theta, rows, n_outputs)
        return np.where(rows[:, :1] > 0.5, [np.nan, np.inf, 1.0][:n_outputs], scores)


@pytest.mark.parametrize("model", [Network(()), Broken(())])
@pytest.mark.parametrize(
    "loss", [Logistic(2), Logistic(3), Ordinal(3), Squared((-2.0, 4.0)), Poisson((0.0, 6.0))]
)
def test_no_neighbour_moves_a_query_of_networks_by_more_than_declared(loss, model):
    queries = _queries("counts" if loss.task == "regression" else "network", 3)
    for name, change in largest_changes(queries, cases.networks_of(loss, model=model), 3).items():
        assert change.l1 <= 1 + 1e-9 and change.l2 <= 1 + 1e-9, (name, change)


def test_variances_of_several_classes_move_as_far_for_trees_as_for_probabilities():
    leaves = DecisionTrees((Leaf(0), Leaf(1), Leaf(2)), 3, ("a",))
    trees = ReleasedTrees(
        models=leaves, psi=0.1, classes=(0, 1, 2), guarantee=pure(1.0), loss="zero_one"
    )
    public, query = PublicShape(trees, 1, True), get_query("score_variance")
    rows = Rows.read(public, np.zeros((1, 1)), [0], None)
    assert query.compute(rows) == query.sensitivity(public).l2 == 1.0


OPPOSITE = [[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0]]
ALIKE = [[2.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 0.0, 0.0]]

TIGHT = [
    *(
        (name, OPPOSITE, "logistic", 1)
        for name in (
            *("ambiguity", "discrepancy", "any_pair_discrepancy", "disagreement"),
            *("self_consistency", "abstention", "range_width", "score_variance", "score_std"),
            "base_rates",
        )
    ),
    ("rashomon_capacity", [[40.0, 0.0, 0.0], [-40.0, 0.0, 0.0]], "logistic", 1),
    *(
        (name, ALIKE, "logistic", 1)
        for name in (
            *("losses", "mean_loss", "least_loss", "largest_loss", "group_sizes"),
            *("accuracies", "mean_accuracy", "least_accuracy", "accuracy_gap", "base_gap"),
            *("selection_gap", "mean_selection_gap", "true_positive_gap"),
        )
    ),
    ("base_rates", None, "softmax", 1),
    ("range_width", [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], "identity", 1),
]


@pytest.mark.parametrize(("name", "coef", "link", "n_rows"), TIGHT)
def test_some_neighbours_attain_the_sensitivity(name, coef, link, n_rows):
    change = largest_changes([get_query(name)], models_of(link, coef), n_rows)[name]
    assert change.l2 >= 0.9


def test_half_the_sensitivity_is_exceeded_by_every_tight_query():
    class Half(Losses):
        def sensitivity(self, public):
            whole = super().sensitivity(public)
            return Sensitivity(whole.l1 / 2, whole.l2 / 2)

    change = largest_changes([Half()], models_of(coef=ALIKE), 1)["losses"]
    assert change.l2 > 1.9


def test_switching_a_feature_moves_its_reliance_by_four_ends_over_n():
    # The other feature keeps one row on the steep side of each label, so that slopes are ±1. Own
    # terms alone may change by 4B|w| and the partner's by 2B|w|: three sides, not three diameters.
    models = models_of(coef=[[4.0, 400.0, 0.0]])
    public = PublicShape(models, 2, True)
    partner = ([0.95 * B, -0.3 * B], 1)
    reliances = []
    for end in (-0.95 * B, 0.95 * B):
        X, y = zip(partner, ([end, 0.3 * B], 0), strict=True)
        reliances.append(Reliance().compute(Rows.read(public, X, y, None))[0])
    declared = 4 * B * 4.0 / 2
    assert 0.94 * declared < abs(reliances[0] - reliances[1]) <= declared


def test_an_excess_moves_by_the_whole_oscillation_where_the_best_model_is_opposite():
    # The draw loses what the least loss gains: neither alone moves by more than half of it.
    z = np.array([B, 0.0, 1.0])
    models = models_of(coef=[0.5 * z / np.linalg.norm(z)])
    public = PublicShape(models, 6, True)
    for query in (Excess(radius=0.5), SoftHits(radius=0.5, width=2.0, psi=0.0)):
        tables = (Rows.read(public, [z[:2]] * 6, [label] + [0] * 5, None) for label in (0, 1))
        found = [query.compute(rows) for rows in tables]
        declared = query.sensitivity(public).l2
        assert 0.99 * declared < np.linalg.norm(found[1] - found[0]) <= declared


def test_uncentred_group_sums_would_move_further():
    class Uncentred(GroupGaps):
        def compute(self, rows):
            sizes, sums = np.split(super().compute(rows), [2])
            whole = 2 * sizes / np.sqrt(rows.public.n_draws)
            return np.concatenate([whole, (sums.reshape(2, -1) + whole[:, None] / 2).ravel()])

    changes = largest_changes([Uncentred(), GroupGaps("accuracy")], models_of(coef=ALIKE), 1)
    assert changes["accuracy_gap"].l2 <= 1 + 1e-9
    assert changes["selection_gap"].l2 == pytest.approx(np.sqrt(8 / 3))  # √(2 + 2k)/√k


def test_the_width_of_scores_is_the_widest_there_is():
    rng = np.random.default_rng(3)
    models = models_of(coef=0.5 * rng.normal(size=(4, 3)))
    angles = rng.uniform(0, 2 * np.pi, 20_000)
    scores = models.scores(B * np.column_stack([np.cos(angles), np.sin(angles)]))
    widest = np.ptp(scores, axis=0).max()
    assert 0.5 * widest < widest <= score_width(PublicShape(models, 5)) < 2 * widest


NO_MEANS = ("least", "largest", "discrepancy", "reliance", "excess", "soft_hits", "group_sizes")


def test_values_lie_in_their_ranges_and_pass_the_middle():
    """Half of a range would cut them off; only means over rows have an error from sampling."""
    models = models_of(n_draws=2)
    public = PublicShape(models, 2, True, True, CATEGORIES)
    pairs = list(itertools.combinations(records_of(models), 2))[::14]
    tables = [Rows.read(public, *table_of(pair)) for pair in pairs]
    for query in _queries("logistic", 2):
        if isinstance(query, GroupGaps):
            continue
        names, low, high, n_mean, _ = query.coordinates(public)
        low, high = (np.broadcast_to(end, len(names)) for end in (low, high))
        values = np.array([query.compute(rows) for rows in tables])
        assert (values >= low - 1e-9).all() and (values <= high + 1e-9).all(), query.name
        if np.isfinite(high).all() and query.name != "rashomon_capacity":
            assert (values >= 0.45 * high).any(), query.name
        mean = not any(word in query.name for word in NO_MEANS)
        assert n_mean == (2 if mean else 0), query.name


ALIKE_MODELS = models_of(coef=[[2.0, 0.0, 0.0]] * 3)
RIGHT, WRONG = ([B, 0.0], 1, "a"), ([B, 0.0], 0, "b")
NEIGHBOURS = table_of([RIGHT, RIGHT]), table_of([RIGHT, WRONG])
GAUSSIAN, LAPLACE = {"rho": 2.0}, {"epsilon": 2.0}
NETWORKS = cases.networks_of(Logistic(2), [[100.0, 0.0, 0.0]] * 3)
AUDITS = {
    "losses": (ALIKE_MODELS, ["losses"], GAUSSIAN),
    "two at once": (ALIKE_MODELS, ["least_loss", "mean_accuracy"], GAUSSIAN),
    "groups": (ALIKE_MODELS, [GroupGaps("accuracy")], GAUSSIAN),
    # a vector's corners are too rare to sample
    "least loss": (ALIKE_MODELS, ["least_loss"], LAPLACE),
    "networks": (NETWORKS, ["losses"], GAUSSIAN),
}


def _values(number):
    rates = getattr(number, "rates", None)
    if rates is None:
        return [number.noisy]
    return [value for rate in rates for value in (rate.size, rate.excess)]


def _audit(models, queries, price):
    settings = {"categories": ("a", "b"), "queries": queries, "ledger": None, **price}

    def noisy(records, rng):
        seed = int(rng.integers(2**62))
        released = release(models, *records, random_state=seed, **settings)
        return np.array([value for number in released for value in _values(number)])

    claim = release(models, *NEIGHBOURS[0], **settings).guarantee
    runs = {"n_runs": 2_000, "confidence": 0.9999, "random_state": 0}
    return audit.monte_carlo(noisy, *NEIGHBOURS, claim=claim, **runs)


@pytest.mark.law
@pytest.mark.parametrize("name", AUDITS)
def test_a_release_stays_within_its_claim(name):
    models, queries, price = AUDITS[name]
    found = _audit(models, queries, price)
    assert not found.broken
    # The neighbours are the worst there are: little of the claim is left unused.
    assert found.mu > 1.2 if price is GAUSSIAN else found.epsilon() > 1.4


@pytest.mark.law
@pytest.mark.parametrize("name", ["losses", "least loss", "networks"])
def test_half_the_noise_is_caught(name, monkeypatch):
    full = plan.release_costs

    def half(*given, **settings):
        priced, guarantee = full(*given, **settings)
        halves = (Noise(cost.noise.scale / 2, cost.noise.law) for cost in priced)
        shares = (cost.share for cost in priced)
        return tuple(map(plan.QueryCost, halves, shares)), guarantee

    monkeypatch.setattr(plan, "release_costs", half)
    assert _audit(*AUDITS[name]).broken
