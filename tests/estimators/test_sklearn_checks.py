"""scikit-learn's own checks, with no expected failure and none skipped for want of a setting."""

from collections.abc import Callable

import pytest
from sklearn.utils import estimator_checks

import rashomon_explorer as rx

# The checks feed rows of any length, which is what the warning is about.
pytestmark = [
    pytest.mark.filterwarnings(
        "ignore:more than 1 % of the:rashomon_explorer.exceptions.RowsClippedWarning"
    ),
    pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.PrivacyLeakWarning"),
]
Check = Callable[..., None]

ESTIMATORS = [
    rx.DPClassifier(mechanism="objective_perturbation", radius=4.0, standardize=None),
    rx.RashomonTreeClassifier(thresholds=0.0, max_leaves=3),
    rx.PrivateSearch(
        rx.RashomonTreeClassifier(thresholds=0.0, max_leaves=2, n_draws=1),
        {"psi": [0.0, 0.05]},
        mechanism="every",
    ),
    rx.DPBilevelSearch(bounds=(0.1, 10.0), spacing=2.0, target_bounds=(-1, 1)),
    rx.RashomonNetworkClassifier(n_steps=100, n_draws=5),
    rx.PublicBoundsScaler(),
]
OTHER_CLASSES = [
    rx.RashomonNetworkRegressor(n_steps=20, n_draws=5, target_bounds=(-1, 1)),
    rx.DPRegressor(target_bounds=(-1, 1)),
    rx.RashomonRegressor(target_bounds=(-1, 1)),
    rx.RashomonClassifier(),
]
OTHER_SETTINGS = [
    *OTHER_CLASSES, rx.DPClassifier(), rx.DPClassifier(family="trees"),
    rx.DPBilevelSearch("logistic", bounds=(0.1, 10.0)),
    rx.RashomonClassifier(mechanism="hit_and_run", random_state=0),
    rx.RashomonRegressor(mechanism="hit_and_run", target_bounds=(-1, 1), random_state=0),
    rx.PublicBoundsScaler("learn"),
    rx.DPBilevelSearch(bounds=(0.1, 10.0), target_bounds=(-1, 1), refit=None),
]  # fmt: skip
METHODS_OF_ONE_MODEL = [
    rx.DPRegressor(mechanism="localised_gaussian", target_bounds=(-1, 1)),
    rx.DPClassifier(loss="hinge", mechanism="localised_gaussian", ridge=0.1),
    rx.DPClassifier(mechanism="langevin", ridge=0.1),
]


@estimator_checks.parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.mark.law
@estimator_checks.parametrize_with_checks([*OTHER_SETTINGS, *METHODS_OF_ONE_MODEL])
def test_scikit_learn_accepts_other_settings(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *OTHER_CLASSES], ids=str)
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_param_validation,
        estimator_checks.check_dataframe_column_names_consistency,
    ],
)
def test_further_checks(estimator, check):
    check(type(estimator).__name__, estimator)


@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names:UserWarning")
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_set_output_transform,
        estimator_checks.check_set_output_transform_pandas,
        estimator_checks.check_transformer_get_feature_names_out,
        estimator_checks.check_transformer_get_feature_names_out_pandas,
    ],
)
def test_further_checks_of_the_scaler(check):
    check("PublicBoundsScaler", rx.PublicBoundsScaler())
