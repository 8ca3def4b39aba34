"""Gaps between optima of the whole set: exact values, their sensitivity on every neighbour."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer import Ledger, RashomonClassifier, RashomonTreeClassifier
from rashomon_explorer.release import LeastPsi, plan_release, release
from rashomon_explorer.release.catalogue import get_query
from rashomon_explorer.release.losses import posed_constants
from rashomon_explorer.release.query import PublicShape, Rows
from rashomon_explorer.trees import CountedTrees, parity_front
from tests.release.cases import B, Unreadable, models_of, records_of, table_of
from tests.trees.listed import errors_of, leaves_of, says, whole_class

PERSON = [[0.4, -0.9]]
LINEAR = {
    "logistic": ("logistic", ("psi_avoiding", "psi_sign", LeastPsi(label_of=PERSON))),
    "hinge": ("sign", ("psi_avoiding", "psi_sign", LeastPsi(label_of=PERSON))),
    "softmax": ("softmax", ("psi_avoiding", LeastPsi(avoiding=[["x0", "x1"]]))),
    "squared": ("identity", ("psi_avoiding", "psi_sign")),
}


def _values(models, query, *columns):
    public = PublicShape(models, len(columns[0]), True)
    query.check(public)
    return query.compute(Rows.read(public, *columns, None)), query.sensitivity(public)


def _models(loss="logistic", radius=4.0, ridge=0.0, psi=0.05, n_features=2):
    models = models_of(LINEAR[loss][0], n_features=n_features)
    return replace(models, plan=models.plan.with_numbers(radius=radius, ridge=ridge, psi=psi))


@pytest.mark.parametrize(
    ("loss", "ridge"), [("logistic", 0.1), ("hinge", 0.0), ("softmax", 0.1), ("squared", 0.0)]
)
def test_no_neighbour_moves_an_optimum_of_linear_models_further_than_declared(loss, ridge):
    models = _models(loss, radius=1.0, ridge=ridge)
    records = records_of(models)
    rng = np.random.default_rng(0)
    rest = [records[i] for i in rng.integers(len(records), size=2)]
    for query in map(get_query, LINEAR[loss][1]):
        some = records[:: {"hinge": 9, "softmax": 6}.get(loss, 3)]
        found = [_values(models, query, *table_of([one, *rest])[:2]) for one in some]
        declared = found[0][1]
        pairs = itertools.combinations([value for value, _ in found], 2)
        moved = max(np.abs(one - other).max() for one, other in pairs)
        each = declared.l1 / len(found[0][0])
        constants = posed_constants(PublicShape(models, 3, True), 1.0, ridge)
        assert 0 < moved <= each * (1 + 1e-9)
        assert each == pytest.approx(constants.osc + 4 * constants.gap_tolerance, rel=1e-12)


def test_gaps_of_linear_models_are_those_of_a_grid():
    """Every model of a fine grid on the disc, with its loss and its scores."""
    models = _models(radius=2.0, n_features=1)
    rng = np.random.default_rng(1)
    x = rng.uniform(-B, B, 40)
    y = (x + rng.normal(size=40) > 0.3).astype(int)
    side = np.linspace(-2, 2, 161)
    grid = np.array([(w, b) for w in side for b in side if w * w + b * b <= 4])
    scores = grid[:, :1] * x + grid[:, 1:]
    losses = np.logaddexp(0, -scores * (2 * y - 1)).mean(axis=1)

    def least(mask):
        return losses[mask].min()

    def signed(value):
        return least(value <= 0) - least(value >= 0)

    w, person = grid[:, 0], grid @ [-0.5, 1.0]
    expected = {
        "psi_avoiding": least(w == 0) - losses.min(),
        "psi_sign": signed(w),
        LeastPsi(label_of=[[-0.5]]): signed(person),
    }
    for query, value in expected.items():
        (found,), _ = _values(models, get_query(query), x[:, None], y)
        assert found == pytest.approx(value, abs=2e-3) and abs(found) > 0.01
    far, near = (_values(models, LeastPsi(label_of=[[end]]), x[:, None], y)[0] for end in (9, B))
    assert far == near != 0  # people are clipped as the rows are


def test_half_the_oscillation_is_too_little():
    """Rows across a flat valley: the best model and the best without x0 are at opposite ends.

    A record along the valley then moves both optima, in opposite directions.
    """
    models, n, few = _models("squared", radius=0.5), 4_000, 60
    across, target = B * np.array([np.cos(0.3), -np.sin(0.3)]), B * 0.5 * np.sin(0.3) + 0.1
    rows = [across, -across] * ((n - few) // 2) + [[0, B], [0, -B]] * (few // 2) + [[0, B]]
    targets = np.array([target, -target] * ((n - few) // 2) + [1, -1] * (few // 2))
    values = []
    for end in (4.0, -2.0):  # the declared ends of the targets
        y = np.append(1 + 3 * targets, end)
        (value,), declared = _values(models, LeastPsi(avoiding=["x0"]), rows, y)
        values.append(value)
    assert 0.7 < abs(values[0] - values[1]) / declared.l2 < 1


@pytest.fixture(scope="module")
def trees():
    X, y = np.random.default_rng(0).integers(0, 2, (300, 3)), [0, 1] * 150
    settings = {"max_leaves": 3, "leaf_penalty": 0.01, "n_draws": 2, "random_state": 0}
    fit = RashomonTreeClassifier(**settings, epsilon=5.0).fit(X, y)
    return fit.rashomon_set_.release()


EVERY = whole_class(3, 3)
LABELLED = [0, 1, 1]
TREES = (
    LeastPsi(avoiding=["x0", ["x1", "x2"]]),
    LeastPsi(label_of=[LABELLED, [1, 1, 1]]),
    LeastPsi(n_trees=[3, 20, len(EVERY)]),
)


def _listed(query, X, y):
    """The same gaps from the losses of every tree of the class."""
    losses = np.array([errors_of(t, X, y) / len(y) + 0.01 * leaves_of(t) for t in EVERY])
    if query is TREES[0]:
        uses = [{str(f) for f in range(3) if f"feature={f}" in repr(t)} for t in EVERY]
        parts = [[not (set(gone) & one) for one in uses] for gone in ("0", "12")]
        return [losses[part].min() - losses.min() for part in parts]
    if query is TREES[1]:
        given = [np.array([says(t, row) for t in EVERY]) for row in (LABELLED, [1, 1, 1])]
        return [losses[one == 0].min() - losses[one == 1].min() for one in given]
    return [np.sort(losses)[count - 1] - losses.min() for count in query.n_trees]


def test_gaps_of_trees_are_those_of_the_listed_class_and_move_by_two_over_n(trees):
    """Every replacement of a record of some tables; 2/n is attained, so half is too little."""
    rng = np.random.default_rng(2)
    records = [(*x, label) for x in itertools.product((0, 1), repeat=3) for label in (0, 1)]
    widest = dict.fromkeys(range(3), 0.0)
    for _ in range(2):
        rest = [records[i] for i in rng.integers(16, size=4)]
        for place, query in enumerate(TREES):
            values = []
            for one in records:
                table = np.array([one, *rest])
                X, y = table[:, :3], table[:, 3]
                value, declared = _values(trees, query, X, y)
                values.append(value)
                if place == 0 or one == records[-1]:
                    assert value == pytest.approx(_listed(query, X, y), abs=1e-9)
            assert _values(trees, query, np.where(X, 0.7, -3), y)[0].tolist() == value.tolist()
            moved = max(np.abs(a - b).max() for a, b in itertools.combinations(values, 2))
            assert moved <= 2 / 5 + 1e-12 and declared.l1 == 2 / 5 * len(values[0])
            widest[place] = max(widest[place], moved)
    assert min(widest.values()) > 1.01 / 5, widest  # half of 2/n is exceeded
    assert max(widest.values()) == pytest.approx(2 / 5)


def test_equal_rates_are_refused_because_one_record_can_exclude_every_good_tree(trees):
    X, groups = np.array([[1], [0]] * 40), np.array([0, 0, 1, 1] * 20)
    costs = []
    for label in (0, 1):  # of the second record
        X[1] = label
        counted = CountedTrees(X, X[:, 0], max_leaves=2, classes=(0, 1))
        front = parity_front(counted, groups, psi=1.0)
        assert front.exact and front.gaps[-1] == 0
        costs.append(front.losses[-1] - counted.least)
    assert costs == [0.0, pytest.approx(0.4875)]  # 2/n is 0.025
    with pytest.raises(ValueError, match="psi_parity is not released: which models"):
        plan_release(trees, 100, queries=["psi_parity"], epsilon=1.0)


def test_answers_are_charged_and_said_in_words(tmp_path):
    models = _models(radius=2.0, psi=0.03)
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (8_000, 2))
    y = (X[:, 0] - 0.1 * X[:, 1] + 0.3 * rng.normal(size=8_000) > 0).astype(int)
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=9.0, delta=1e-6)
    queries = ["psi_avoiding", "psi_sign", LeastPsi(label_of=[[0.9, 0.0], [0.0, 0.05]])]
    exact = {}
    for query in map(get_query, queries):
        values, _ = _values(models, query, X, y)
        exact |= dict(zip(query._entries(PublicShape(models, 8_000)), values, strict=True))
    sought = {"queries": queries, "epsilon": 4.0, "delta": 1e-7}
    found = release(models, X, y, ledger=ledger, **sought)
    assert ledger.spent() > 0 and len(ledger.entries()) == 1
    ends = {one.name: one.interval(1 - 1e-9) for one in found}
    assert all(low <= exact[name] <= high for name, (low, high) in ends.items())
    assert found["psi without x0"].note.startswith("within ψ = 0.03 every model uses it")
    assert found["psi without x1"].note.startswith("within ψ = 0.03 some model does without")
    assert found["psi of the sign of x0"].note.startswith("within ψ = 0.03 positive in every model")
    assert found["psi of person 0"].note.startswith("within ψ = 0.03 every model says 1")
    assert found["psi of person 1"].note.startswith("within ψ = 0.03 models disagree")
    assert any("people whose labels" in one for one in found.guarantee.assumptions)
    tiny = release(models, X, y, ledger=None, queries=["psi_avoiding"], epsilon=0.001)
    assert tiny["psi without x1"].note == "the noise hides it at ψ = 0.03"


def test_an_unfitted_estimator_answers_without_a_draw_and_before_a_row_is_read(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.uniform(-0.5, 0.5, (4_000, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=4_000) > 0, "yes", "no")
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=1.0)
    every = RashomonClassifier(psi=0.02, radius=3.0, classes=["no", "yes"], standardize="private")
    found = release(every, X, y, queries=["psi_avoiding"], epsilon=1.0, ledger=ledger)
    fitted = RashomonClassifier(psi=0.02, radius=3.0, n_draws=1, standardize=None).fit(X, y)
    exact, declared = _values(fitted.rashomon_set_.release(), get_query("psi_avoiding"), X, y)
    for one, value in zip(found, exact, strict=True):
        low, high = one.interval(1 - 1e-9)
        assert low <= value <= high and one.noise.scale == pytest.approx(declared.l1)
    assert found.n_draws == 0 and len(ledger.entries()) == 1 and not hasattr(every, "coef_")
    ledger = Ledger.create(tmp_path / "b.ledger", epsilon=1.0)
    for models, queries, words in (
        (every, ["ambiguity"], "at least 1 draws"),
        (every, ["losses"], "at least 1 draws"),
        (RashomonClassifier(psi=0.02), ["psi_sign"], "classes"),
    ):
        with pytest.raises(ValueError, match=words):
            release(models, Unreadable(X.shape), y, queries=queries, epsilon=1.0, ledger=ledger)
    assert ledger.entries() == []


def test_rounded_counts_are_refused(trees):
    questions = tuple((f"x{j}", None) for j in range(60))
    many = trees.planned.with_numbers(questions=questions, most_leaves=12, max_depth=4)
    public = PublicShape(replace(trees, planned=many), 1_000, True)
    with pytest.raises(ValueError, match="no sensitivity is proved for rounded counts"):
        LeastPsi(n_trees=[9]).check(public)


@pytest.mark.parametrize(
    ("query", "link", "words"),
    [
        (lambda: LeastPsi(), "logistic", "give exactly one of"),
        (lambda: LeastPsi(sign=[], avoiding=[]), "logistic", "give exactly one of"),
        (lambda: LeastPsi(sign=["x9"]), "logistic", "unknown feature 'x9'"),
        (lambda: LeastPsi(avoiding="x0"), "logistic", r"write \['x0'\]"),
        (lambda: LeastPsi(sign=[["x0", "x1"]]), "logistic", "needs single columns"),
        (lambda: LeastPsi(sign=["x0"]), "softmax", "one score"),
        (lambda: LeastPsi(label_of=PERSON), "softmax", "two classes"),
        (lambda: LeastPsi(label_of=PERSON), "identity", "models for classification"),
        (lambda: LeastPsi(label_of=[[np.nan, 0]]), "logistic", "finite rows"),
        (lambda: LeastPsi(label_of=[0.0, 1.0]), "logistic", "finite rows"),
        (lambda: LeastPsi(n_trees=[9]), "logistic", "needs trees"),
        (lambda: LeastPsi(n_trees=[]), "trees", "must list counts"),
        (lambda: LeastPsi(n_trees=[0]), "trees", "n_trees must be"),
        (lambda: LeastPsi(n_trees=[10**9]), "trees", "the trees of the class"),
        (lambda: LeastPsi(sign=[]), "trees", "no coefficients"),
        (lambda: LeastPsi(avoiding=[["x0", "x1", "x2"]]), "trees", "no tree of the class avoids"),
        (lambda: "psi_n_trees", "trees", "needs options"),
    ],
)
def test_what_is_not_proved_is_refused_before_rows_are_read(query, link, words, trees):
    models = trees if link == "trees" else models_of(link)
    with pytest.raises(ValueError, match=words):
        plan_release(models, 1_000, queries=[query()], epsilon=1.0)
