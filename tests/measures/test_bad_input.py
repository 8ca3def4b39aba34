"""Bad input of measures: the message says what was wrong and what was expected."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from rashomon_explorer import RashomonClassifier
from rashomon_explorer import measures as m
from rashomon_explorer.measures import importance, multiplicity, ranges
from rashomon_explorer.measures.reliance.pair_losses import switched_mean
from rashomon_explorer.problem.domains import Ball, Intersection
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.sets import from_predictions

NAN, TWO = math.nan, [[0, 1], [1, 1]]
RNG = np.random.default_rng(0)
X = RNG.uniform(-0.4, 0.4, (40, 2))
Y = np.where(X[:, 0] > 0.1 * RNG.normal(size=40), 1.0, -1.0)
PROBLEM = Problem(X, Y, intercept=False)
SQUARED = Problem(X, np.clip(X[:, 0] + 0.1 * Y, -1, 1), loss="squared")
EXACT = Problem(X, X[:, 0], loss="squared")
CUT = Problem(X, Y, domain=Intersection(Ball(10.0), Ball(9.0)))
SET = from_predictions([[0.9, 0.2], [0.4, 0.3]], [1, 0], psi=0.5)
MODEL = LogisticRegression().fit(X, Y)
FITTED = lambda model, y: m.penalised_problem(model.fit(X, y), X, y)  # noqa: E731
SPLIT = m.disagreement_decomposition
PRIVATE = RashomonClassifier(mechanism="exact", psi=0.3, n_draws=4, epsilon=50.0, random_state=0)
PRIVATE = PRIVATE.fit(X, Y).rashomon_set_
FAR = np.full(4, 9.0)
GAPS = partial(m.fairness_gaps, [[1, 0, 1, 0]], [1, 0, 1, 0])
FOUR, SIDES = [0, 1, 0, 1], list("aabb")
UNUSED = pd.Series(pd.Categorical(SIDES, categories=list("abc")), name="sex")
CLASS = partial(m.model_class_reliance, SQUARED)
RID = partial(m.rid, Problem, X, Y)
PEOPLE = partial(m.draws_in_range, exact=m.exact_ranges(PROBLEM, 0.1))
TABLE = partial(m.multiplicity_table, SET)
CLOUD = pd.DataFrame({"a": [1.0, 2.0, NAN]})

LABELS_AND_SCORES = [
    (lambda: m.ambiguity([0, 1]), r"labels must have shape .* got \(2,\)"),
    (lambda: m.disagreement([[0, 1], [1]]), "one label for each model and row"),
    (lambda: m.disagreement(np.zeros((2, 3, 2))), "scores.argmax"),
    (lambda: m.disagreement([["no", None]]), "missing label for model 0, row 1"),
    (lambda: m.disagreement(np.array([["no", 1]], dtype=object)), "all be of one kind"),
    (lambda: m.ambiguity(RNG.random((9, 40))), "at most 255 .* got 360"),
    (lambda: m.ambiguity([[0, 1], [NAN, 0]]), "NaN or infinity for model 1, row 0"),
    (lambda: m.ambiguity([[0, 1]], 1), "baseline must be a model index < 1, got 1"),
    (lambda: m.discrepancy([[0, 1]], [0]), "one label for each of 2 rows"),
    (lambda: m.discrepancy([[0, 1]], ["no", "yes"]), "baseline must be labels like the models'"),
    (lambda: m.discrepancy([[0, 1]], "any"), "'any pair', got 'any'"),
    (lambda: multiplicity.abstention([[0, 1]]), "at least two models"),
    (lambda: multiplicity.abstention(TWO, kappa=1.5), r"kappa must be in \[0, 1\], got 1.5"),
    (lambda: multiplicity.delta_ambiguity([[0.1]], tolerance=NAN), "not a privacy parameter"),
    (lambda: multiplicity.delta_ambiguity([[1]], tolerance=1, baseline=[1, 2]), r"shape \(1,\)"),
    (lambda: multiplicity.delta_ambiguity([[1]], tolerance=1, baseline=[NAN]), "holds NaN"),
    (lambda: multiplicity.delta_ambiguity([[1]], tolerance=1, baseline=["x"]), "or its scores"),
    (lambda: multiplicity.score_variance([[0.1]], ddof=2), "ddof must be 0 or 1, got 2"),
    (lambda: multiplicity.range_width([0.1, 0.2]), "scores must have shape"),
    (lambda: m.decide_or_abstain([[0.1, 1.2], [0.1, 0.2]]), r"in \[0, 1\], got 1.2"),
    (lambda: m.decide_or_abstain([[0.1, 0.2]]), "at least two models"),
    (lambda: m.rashomon_capacity([[[0.5, 0.2]]] * 2), "must sum to 1 .* got a sum of 0.7"),
    (lambda: m.rashomon_capacity([[0.1]], unit="nats"), "unit must be 'bits' or 'classes'"),
    (lambda: TABLE(psi=0.6), "psi must be between 0 and 0.5, the threshold of the draws"),
    (lambda: TABLE(psi=0.1, inside_only=False), "omit psi for all draws"),
    (lambda: TABLE(measures=["volume"]), "measure must be one of"),
    (lambda: TABLE(measures="ambiguity"), "measures must be a list"),
    (lambda: TABLE(groups=["a"]), "one group for each of 2 rows"),
    (lambda: TABLE(groups=["all rows"] * 2), "must not contain 'all rows'"),
    (lambda: TABLE(baseline=[0.5]), r"baseline must hold scores of shape \(2,\)"),
    (lambda: m.enough_draws("ambiguity", [[0]] * 4), "ambiguity is an extreme over the set"),
    (lambda: m.enough_draws("beauty", [[0]] * 4), "measure must be one of"),
    (lambda: m.enough_draws("disagreement", [[0]] * 4, mechanism="hit_and_run"), "are too few"),
    (lambda: m.enough_draws("disagreement", [[0]] * 4, mechanism="any"), "dependence between"),
    (lambda: m.enough_draws("disagreement", [[0]] * 40, n_chains=5), "must be an even number"),
    (lambda: m.enough_draws("disagreement", [[0, 1]]), "at least two models .* got 1"),
    (lambda: m.enough_draws("score_variance", [[0.0], [2.0]]), "which bounds the terms"),
    (lambda: m.ConfidenceSequence(bounds=(1, 0)), "bounds must be finite and increasing"),
    (lambda: m.ConfidenceSequence().update([0.1, NAN]), r"terms must be numbers in \[0, 1\]"),
]
FAIRNESS = [
    (lambda: GAPS(list("aab")), "for each of 4 rows"),
    (lambda: GAPS(["a"] * 4), "at least two groups"),
    (lambda: GAPS(UNUSED), "'c' of 'sex'"),
    (lambda: GAPS(pd.DataFrame(index=range(4))), "groups has no column"),
    (lambda: m.fairness_gaps([FOUR], [1, 0], SIDES), "y must hold one label"),
    (lambda: m.fairness_gaps([FOUR], [1, 0, NAN, 0], SIDES), "missing"),
    (lambda: m.fairness_gaps([FOUR], list("yyyn"), SIDES), "labels like the models'"),
    (lambda: m.fairness_gaps([list("ynyn")], list("yynn"), SIDES), r"the label of \['n', 'y'\]"),
    (lambda: m.fairness_gaps([[1, 2, 1, 2]], [1, 2, 2, 1], SIDES, positive=0), r"\[1, 2\], got 0"),
    (lambda: GAPS(SIDES, positive=[1]), r"\[0, 1\], got \[1\]"),
    (lambda: GAPS(SIDES, ["parity"]), "got 'parity'"),
    (lambda: GAPS(SIDES, "demographic_parity"), "a list of names"),
    (lambda: GAPS(SIDES, agg="product"), "'difference' or 'ratio', got 'prod"),
    (lambda: GAPS(SIDES, method="to_best"), "'to_overall', got 'to_best'"),
    (lambda: m.frontier([0.1], accuracy=[1], losses=[1]), "exactly one of accuracy"),
    (lambda: m.frontier([NAN], accuracy=[0.9]), "at least one model"),
    (lambda: m.frontier([0.1, 0.2], losses=[0.9]), r"gaps has shape \(2,\)"),
    (lambda: m.fairness_audit(SET, None, [1, 2], ["a", "b"]), "y holds the class 2"),
    (lambda: m.fairness_audit(SET, None, [1, 0], ["a", "b"], positive=3), "classes .* got 3"),
    (lambda: m.fairness_audit(SET, None, FOUR, SIDES), "one target for each of 2 rows, got 4"),
    (lambda: m.fairness_audit(SET, None, [[1], [0]], ["a", "b"]), "one target per row"),
]
RELIANCE = [
    (lambda: m.feature_groups([2], "ab"), "there are 2 features, numbered from 0, got 2"),
    (lambda: m.feature_groups(["height"], "ab"), "unknown feature 'height'; the features are a, b"),
    (lambda: m.feature_groups([[]], "ab"), "a group of features must hold at least one"),
    (lambda: m.feature_groups([[0, "a"]], "ab"), "holds a feature twice"),
    (lambda: m.feature_groups(["a", 0], "ab"), "features holds 'a' twice"),
    (lambda: m.feature_groups("a", "ab"), r"write \['a'\]"),
    (lambda: m.feature_groups([], "ab"), "at least one feature, got none"),
    (lambda: m.importance_cloud(SET, X, Y, measure="gain"), "measure must be one of"),
    (lambda: m.importance_tradeoffs(CLOUD[:2]), "at least three models"),
    (lambda: m.importance_tradeoffs(CLOUD), "a finite number for every model"),
    (lambda: switched_mean(*np.zeros((2, 1, 10**5, 1)), np.zeros(10**5), "softmax"), "fewer rows"),
    (lambda: m.importance_spread([[0.1, 0.2]], ["age"]), "1 names for 2 features"),
    (lambda: importance.partial_dependence(SET, X, 5), "no column 5"),
    (lambda: importance.partial_dependence(SET, X, 0, grid=[]), "at least one"),
    (lambda: RID(psi=0.01, form="gap"), "form must be one of"),
    (lambda: m.rid(Problem, X[:1], Y[:1], psi=0.1), "at least two rows"),
    (lambda: m.importance_distribution([], ["a"]), "at least one bootstrap"),
    (lambda: m.importance_distribution([[[1, 2]]], ["a"]), "2 columns for 1 features"),
    (lambda: m.importance_distribution([[[1]], [[NAN]]], ["a"]), r"importances\[1\] holds NaN"),
    (lambda: m.importance_distribution([[[1]]], ["a"]).quantile(0), r"lie in \(0, 1\], got 0"),
    (lambda: CLASS(), "psi is required"),
    (lambda: CLASS(psi=0.01, form="gap"), "form must be one of"),
    (lambda: m.model_class_reliance(CUT, psi=0.1), "must have a ball of models"),
    (lambda: m.model_class_reliance(EXACT, psi=0.1, form="ratio"), "these rows with zero loss"),
    (lambda: CLASS(psi=0.01, feature_names=["age"]), "feature_names must hold 2 names, got 1"),
    (lambda: CLASS(psi=0.01, draws=[[1.0]]), r"coef must have shape \(n_models, 3\), got"),
    (lambda: CLASS(psi=0.01, draws=[[9.0] * 3]), "none of the 1 draws lies in the Rashomon set"),
    (
        lambda: m.model_class_reliance(Problem(X, Y, loss="hinge"), psi=1),
        "without kinks, got 'hinge': use loss='smoothed_hinge'",
    ),
    (lambda: m.model_class_reliance(Problem([[0.5]], [1]), psi=0.1), "two rows, got 1"),
    (lambda: m.model_reliance(PROBLEM, X, Y), "a problem has its own rows"),
    (lambda: m.model_reliance(MODEL), "X is required"),
]
RANGES = [
    (lambda: m.exact_ranges(PROBLEM, 0.1, [[1.0]]), r"shape \(k, 2\), got \(1, 1\)"),
    (lambda: m.exact_ranges(PROBLEM, 0.1, [["a", "b"]]), "directions must be numbers"),
    (lambda: m.exact_ranges(PROBLEM, 0.1, [[NAN, 1]]), "directions must be finite"),
    (lambda: m.exact_ranges(PROBLEM, 0.1, names=["a"]), "one per direction, got 1 for 2"),
    (lambda: m.exact_flips(PROBLEM, 0.1, np.empty((0, 2))), r"shape \(n_rows, 2\)"),
    (lambda: m.exact_flips(PROBLEM, 0.1, [[0.1, NAN]]), r"NaN or infinity at \(0, 1\)"),
    (lambda: m.exact_group_gap(PROBLEM, 0.1, X[:1], ["a"]), "at least two groups"),
    (lambda: m.exact_group_gap(PROBLEM, 0.1, X[:1], ["a", "b"]), "one per row"),
    (lambda: m.exact_group_gap(PROBLEM, 0.1, X[:2], ["a", None]), "missing value at row 1"),
    (lambda: m.flip_psi(PROBLEM, 0.5), r"shape \(n_rows, 2\)"),
    (lambda: PEOPLE([[1.0]]), "1 columns of models"),
    (lambda: PEOPLE([[0.0, 0.0]], inside=[False]), "no model lies in the Rashomon set"),
    (lambda: PEOPLE([[0.0, 0.0]], inside=[1.0]), "inside must hold True or False"),
    (lambda: m.penalised_problem(MODEL, X, Y + 5), "must hold the labels"),
    (lambda: m.penalised_problem(MODEL, X, Y[1:]), "one target per row"),
    (lambda: m.penalised_problem(MODEL, X * NAN, Y), "without NaN"),
    (lambda: m.penalised_problem(MODEL, [["old"]] * 40, Y), "must hold numbers"),
    (lambda: FITTED(LinearSVC(), np.arange(40) % 3), "LinearSVC needs two classes, got 3"),
    (lambda: FITTED(Ridge(positive=True, solver="lbfgs"), Y), "positive=False"),
]
DECOMPOSITION = [
    (lambda: SPLIT(SET, [[0, 1]]), "depend on each other"),
    (lambda: SPLIT(PRIVATE, X, groups=["a"]), "one group for each of 40 rows"),
    (lambda: SPLIT(replace(PRIVATE, losses=FAR), X), "none of the 4 draws is .*raise epsilon"),
    (lambda: SPLIT(replace(PRIVATE, losses=FAR * [0, 1, 1, 1]), X), "only one of the 4 draws"),
]
KINDS = [
    (lambda: m.ambiguity(SET), r"got a PredictorSet: use models\.labels\(X\)"),
    (lambda: m.rashomon_capacity(SET), r"got a PredictorSet: use models\.scores\(X\)"),
    (lambda: TABLE(measures=["delta_ambiguity"]), "needs tolerance="),
    (lambda: SPLIT([[0, 1]], X), "a set of private trees, got list"),
    (lambda: m.multiplicity_table(np.zeros((2, 2))), "must be a set of models, got ndarray"),
    (lambda: m.fairness_audit(pd.DataFrame(), X, Y, Y), "or PredictorSet, got DataFrame"),
    (lambda: m.exact_flips(SQUARED, 0.1, X), "need a classification loss"),
    (lambda: m.exact_ranges(MODEL, 0.1), "got LogisticRegression: make one .* penalised_problem"),
    (lambda: m.penalised_problem(DecisionTreeClassifier(), X, Y), "one of LogisticRegression, Log"),
    (lambda: m.penalised_problem(make_pipeline(Ridge()), X, Y), "pass a pipeline's last step"),
    (lambda: m.declared_problem(MODEL, X, Y), "use penalised_problem"),
    (lambda: ranges.set_problem(MODEL, X, Y), "which is one model: penalised_problem"),
    (lambda: m.model_class_reliance(PROBLEM, 0.01), r"pass psi by name: psi=0\.01"),
    (lambda: m.model_class_reliance(MODEL, X, Y), "Use model_reliance"),
    (lambda: m.importance_cloud(PROBLEM, X, Y), "which has no draws"),
    *(
        (lambda kind=kind: m.importance_cloud(SET, X, Y, measure=kind), "needs linear models.*Pred")
        for kind in ("reliance", "permutation", "shap")
    ),
]
VALUES = [*LABELS_AND_SCORES, *FAIRNESS, *RELIANCE, *RANGES, *DECOMPOSITION]


@pytest.mark.parametrize(
    ("error", "call", "words"),
    [(ValueError, *case) for case in VALUES] + [(TypeError, *case) for case in KINDS],
)
def test_bad_input_is_named(error, call, words):
    with pytest.raises(error, match=words):
        call()
