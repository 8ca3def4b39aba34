"""Every function of a set or a problem takes the table that the estimator took."""

import inspect

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from rashomon_explorer import PublicBoundsScaler, RashomonClassifier, RashomonTreeClassifier, data
from rashomon_explorer import measures as m
from rashomon_explorer import plots as p
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.measures import importance
from rashomon_explorer.report import report
from rashomon_explorer.rows import chunk_rows
from rashomon_explorer.sets import from_estimators

SCHEMA = data.TableSchema(
    [
        data.Numeric("age", (18, 90)),
        data.Categorical("home", ["own", "rent", "other"]),
        data.Numeric("income", (0, 100), missing="indicator"),
        data.YesNo("repaid", ["no", "yes"], role="target"),
    ]
)


def table(n=100):
    """Text and gaps, and a target that depends on age and home."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(18, 90, n), "income": rng.uniform(0, 100, n)})
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    frame["home"] = rng.choice(["own", "rent", "other"], n)
    better = (frame["age"] > 50).astype(int) + (frame["home"] == "own") + rng.normal(size=n) > 1
    return frame, np.where(better, "yes", "no")


FRAME, Y = table()
X = FRAME
GROUPS = X["home"].to_numpy()
EXACT = {"psi": 0.1, "epsilon": 300.0, "n_draws": 20, "radius": 4.0, "ridge": 0.0}
LINEAR = RashomonClassifier(mechanism="exact", random_state=0, schema=SCHEMA, **EXACT).fit(X, Y)
REGION = RashomonClassifier(
    mechanism="ellipsoid", ridge=0.1, epsilon=300.0, random_state=0, schema=SCHEMA
).fit(X, Y)
TREES = RashomonTreeClassifier(
    epsilon=300.0, n_draws=7, max_leaves=3, random_state=0, schema=SCHEMA
).fit(X, Y)
EXACT_RANGES = m.exact_coefficient_ranges(m.declared_problem(LINEAR, X, Y), 0.1)

ENCODED = np.asarray(LINEAR.encoder_.transform(X))
DECLARED = m.declared_problem(LINEAR, X, Y)
MADE = {"linear": LINEAR, "ellipsoid": REGION, "trees": TREES}
TREES_ONLY = {"plot_rules", "plot_tree_use", "plot_trees", "rules_table"}
KIND = dict.fromkeys({"released_flips", "released_ranges"}, "ellipsoid")
KIND |= dict.fromkeys({*TREES_ONLY, "tree_shap"}, "trees")
ALONE = lambda f, who, X: f(who)  # noqa: E731
WITH_TARGETS = lambda f, who, X: f(who, X, Y)  # noqa: E731
SPECIAL = {
    **dict.fromkeys(TREES_ONLY, ALONE),
    **dict.fromkeys(["coefficient_spread", "plot_bounds", "plot_losses", "set_width"], ALONE),
    **dict.fromkeys(["plot_map", "plot_coefficient_spread"], ALONE),
    **dict.fromkeys(["importance_cloud", "model_reliance"], WITH_TARGETS),
    "plot_importance": WITH_TARGETS,
    "draws_in_range": lambda f, who, X: f(who, EXACT_RANGES),
    "fairness_audit": lambda f, who, X: f(who, X, Y, GROUPS).table,
    "linear_shap": lambda f, who, X: f(who, X, background=X[:9]),
    "multiplicity_by_person_group": lambda f, who, X: f(who, X, GROUPS),
    "multiplicity_table": lambda f, who, X: f(who, X, groups=GROUPS),
    "people_ranges": lambda f, who, X: f(who, X, DECLARED),
    "permutation_importance": lambda f, who, X: f(who, X, Y, random_state=0),
    "plot_pair": lambda f, who, X: f(who, 0, 1, X, Y),
    "plot_person": lambda f, who, X: f(who, X, 3),
    "plot_ranges": lambda f, who, X: f(who, EXACT_RANGES),
    "plot_two_sets": lambda f, who, X: f(who, who),
    "plot_what_if": lambda f, who, X: f(who, X[:1], X[1:2]),
    "set_problem": lambda f, who, X: f(who, X, Y).minimum.theta,
    "shap_importance": lambda f, who, X: f(who, X, background=X[:9]),
    "tree_shap": lambda f, who, X: f(who, X[:20], background=X[:9]),
}
PROFILES = {"partial_dependence", "plot_profile"}
OF_PROBLEMS = {
    "exact_ambiguity": lambda f, problem, X: f(problem, 0.1, X),
    "exact_flips": lambda f, problem, X: f(problem, 0.1, X),
    "exact_group_gap": lambda f, problem, X: f(problem, 0.1, X, GROUPS),
    "exact_score_ranges": lambda f, problem, X: f(problem, 0.1, X[:9]),
    "flip_psi": lambda f, problem, X: f(problem, X[:9]),
    "proved_people": lambda f, problem, X: f(problem, 0.1, X[:9]),
    "recourse": lambda f, problem, X: f(problem, 0.01, X[:5], ["age"]).people,
}
WITHOUT_ROWS = {"exact_coefficient_ranges", "exact_ranges", "relative_psi"}
SEVERAL = {"plot_exact_ranges", "plot_people_ranges", "plot_importance_pair"}  # take a table made


def exported():
    """Functions that the rooms export, by name, with the name of their first argument."""
    rooms = [m, p, *(getattr(m, name) for name in {*dir(m)} - {*m.__all__})]
    functions = {name: getattr(room, name) for room in rooms for name in room.__all__}
    return {
        name: (found, next(iter(inspect.signature(found).parameters)))
        for name, found in functions.items()
        if inspect.isfunction(found)
    }


FUNCTIONS = exported()
OF_MODELS = {
    name: found
    for name, (found, first) in FUNCTIONS.items()
    if first in ("models", "models_or_problem", "first")
    and name not in SEVERAL | {"model_class_reliance"}  # which takes no set of draws
}


def plain(result):
    """A result without its type: text that is equal for equal numbers."""
    if isinstance(result, go.Figure):
        return result.to_json()
    if isinstance(result, pd.DataFrame):
        return result.round(9).to_csv()
    return str(np.round(result, 9)) if isinstance(result, np.ndarray) else repr(result)


@pytest.mark.parametrize("name", sorted(OF_MODELS.keys() - PROFILES))
def test_a_function_of_models_takes_the_raw_table_and_the_estimator(name):
    call, f = SPECIAL.get(name, lambda f, who, X: f(who, X)), OF_MODELS[name]
    estimator = MADE[KIND.get(name, "linear")]
    models = estimator.rashomon_set_
    encoded = np.asarray(estimator.encoder_.transform(X))
    expected = plain(call(f, models, encoded))
    assert plain(call(f, models, X)) == expected
    assert plain(call(f, estimator, X)) == expected


NUMBERS = RashomonClassifier(
    schema=data.TableSchema([data.Numeric("a", (0, 0.5)), data.Numeric("b", (-0.3, 0.3))]),
    mechanism="exact",
    random_state=0,
    **EXACT,
)
BARE = np.random.default_rng(1).uniform((0, -0.3), (0.5, 0.3), (len(X), 2))
NUMBERS.fit(pd.DataFrame(BARE, columns=["a", "b"]), Y)
ONLY = {"plot_losses", "plot_bounds", "plot_ranges", "draws_in_range"}


@pytest.mark.parametrize("name", sorted(OF_MODELS.keys() - PROFILES - KIND.keys() - ONLY))
def test_numbers_without_names_are_the_raw_table_of_an_estimator_and_refused_of_a_set(name):
    """Both could be encoded: the bounds lie within the row norm, so no value tells."""
    call, f = SPECIAL.get(name, lambda f, who, X: f(who, X)), OF_MODELS[name]
    if name == "people_ranges":
        problem = m.declared_problem(NUMBERS, BARE, Y)
        call = lambda f, who, X: f(who, X, problem)  # noqa: E731
    frame = pd.DataFrame(BARE, columns=["a", "b"])
    assert plain(call(f, NUMBERS, BARE)) == plain(call(f, NUMBERS, frame))
    if call not in (ALONE, SPECIAL["plot_two_sets"]):
        with pytest.raises(DataError, match="Give the raw table as a DataFrame"):
            call(f, NUMBERS.rashomon_set_, BARE)


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_a_profile_moves_a_column_of_the_raw_table(name):
    f = FUNCTIONS[name][0]
    for estimator, feature in ((LINEAR, "home"), (TREES, "age")):
        encode = estimator.encoder_.transform
        expected = plain(f(estimator.rashomon_set_, X, feature, transform=encode))
        assert plain(f(estimator.rashomon_set_, X, feature)) == expected
        assert plain(f(estimator, X, feature)) == expected


@pytest.mark.parametrize("name", sorted(OF_PROBLEMS))
def test_a_function_of_a_problem_takes_the_raw_table(name):
    f, call = FUNCTIONS[name][0], OF_PROBLEMS[name]
    assert plain(call(f, DECLARED, X)) == plain(call(f, DECLARED, ENCODED))


def test_every_function_of_a_problem_is_listed():
    found = {name for name, (_, first) in FUNCTIONS.items() if first == "problem"}
    assert found == OF_PROBLEMS.keys() | WITHOUT_ROWS


@pytest.mark.slow
def test_a_report_of_the_raw_table_is_that_of_the_encoded_rows(tmp_path):
    rows = (LINEAR.rashomon_set_, ENCODED), (LINEAR, X)
    pages = [
        report(
            who, tmp_path / f"{place}.html", table, Y, groups=GROUPS, interactive=False
        ).read_bytes()
        for place, (who, table) in enumerate(rows)
    ]
    assert pages[0] == pages[1]


@pytest.mark.parametrize("estimator", [LINEAR, TREES], ids=["linear", "trees"])
def test_chunked_rows_are_encoded_on_the_way(estimator):
    expected = m.multiplicity_table(estimator, X, groups=GROUPS)
    chunks = chunk_rows(X, labelled=False)
    for table in (chunks, chunks.through(estimator.encoder_)):
        found = m.multiplicity_table(estimator, table, groups=GROUPS)
        pd.testing.assert_frame_equal(found, expected)


def test_a_pipeline_is_taken_with_the_table_that_it_took():
    numbers, groups = X[["age"]].assign(noise=np.linspace(-1, 1, len(X))), GROUPS
    steps = make_pipeline(
        PublicBoundsScaler([(18, 90), (-1, 1)]),
        RashomonClassifier(mechanism="exact", random_state=0, **EXACT),
    )
    pipe = steps.fit(numbers, Y)
    models, rows = pipe[-1].rashomon_set_, pipe[:-1].transform(numbers)
    for f in (m.multiplicity_table, p.plot_people):
        assert plain(f(pipe, numbers)) == plain(f(models, rows))
    assert plain(m.model_reliance(pipe, numbers, Y)) == plain(m.model_reliance(models, rows, Y))
    assert importance.partial_dependence(pipe, numbers, "age").columns.max() > 50  # in years
    problem = m.declared_problem(pipe, numbers, Y)
    bare = m.declared_problem(pipe[-1], rows, Y)
    assert plain(m.exact_flips(problem, 0.1, numbers)) == plain(m.exact_flips(bare, 0.1, rows))
    assert plain(m.exact_group_gap(problem, 0.1, numbers, groups)) == plain(
        m.exact_group_gap(bare, 0.1, rows, groups)
    )


def test_one_model_is_refused_in_words():
    model = LogisticRegression().fit(ENCODED, Y)
    with pytest.raises(TypeError, match="which is one model: penalised_problem"):
        m.multiplicity_table(model, ENCODED)
    with pytest.raises(NotFittedError):
        m.multiplicity_table(RashomonClassifier(schema=SCHEMA), X)


ANY_MODEL = {
    "fairness_audit",
    "multiplicity_by_person_group",
    "multiplicity_table",
    "permutation_importance",
    "plot_importance",
    "plot_losses",
    "plot_people",
    "plot_person",
    "plot_what_if",
}


@pytest.fixture(scope="module")
def pipelines():
    """A set of pipelines, and one of their last steps with what these see."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer((OneHotEncoder(), ["home"]), (numbers, ["age", "income"]))
    fits = [make_pipeline(clone(columns), LogisticRegression(C=c)).fit(X, Y) for c in (0.01, 1)]
    seen = fits[0][:-1].transform(X)  # the same for all
    return from_estimators(fits, X, Y), from_estimators([one[-1] for one in fits], seen, Y), seen


@pytest.mark.parametrize("name", sorted(ANY_MODEL))
def test_fitted_pipelines_take_their_table_of_text_and_gaps(name, pipelines):
    raw, last, seen = pipelines
    call = SPECIAL.get(name, lambda f, who, X: f(who, X))
    result = call(OF_MODELS[name], raw, X)
    if name not in {"permutation_importance", "plot_importance", "plot_person"}:  # of columns
        assert plain(result) == plain(call(OF_MODELS[name], last, seen))
