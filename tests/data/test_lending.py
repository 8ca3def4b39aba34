import hashlib

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from rashomon_explorer.data import LENDING_COEFFICIENTS, load_dataset
from rashomon_explorer.data.catalog import simulate_lending
from tests.patience import processor_time

CHECKSUM = "b3b7630cf14fed127a54344f8777b0c510021dd62f8fb666f75f6e4b381efc96"
TRUE = np.array(list(LENDING_COEFFICIENTS.values()))


def with_intercept(X):
    return np.column_stack([X, np.ones(len(X))])


def z_scores(design, y, coefficients):
    """Distance of the maximum-likelihood fit from ``coefficients`` in standard errors."""
    fit = LogisticRegression(C=1e8, tol=1e-8, fit_intercept=False, max_iter=1000).fit(design, y)
    chance = fit.predict_proba(design)[:, 1]
    information = design.T @ (design * (chance * (1 - chance))[:, None])
    return (fit.coef_[0] - coefficients) / np.sqrt(np.diag(np.linalg.inv(information)))


def digest(data):
    rows = np.rint(data.X.to_numpy() * 1e6).astype("<i8")
    group = (data.sensitive["group"] == "B").to_numpy()
    parts = (rows, data.y.to_numpy().astype("<i8"), group.astype("<i8"))
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def test_checksum(lending):
    assert digest(lending) == CHECKSUM


def test_the_checksum_notices_one_label(lending):
    changed = load_dataset("lending")
    changed.y.iloc[123] = 1 - changed.y.iloc[123]
    assert digest(changed) != digest(lending)


def test_columns_and_coefficients_agree(lending):
    assert [*lending.feature_names, "intercept"] == list(LENDING_COEFFICIENTS)
    assert list(lending.sensitive.columns) == ["group"]
    assert set(lending.sensitive["group"]) == {"A", "B"}
    assert lending.classes == ["no", "yes"]


def test_the_description_states_every_coefficient(lending):
    lines = lending.DESCR.splitlines()
    for name, value in LENDING_COEFFICIENTS.items():
        line = next(line for line in lines if line.strip().startswith(f"{name} "))
        assert float(line.split("coefficient")[1]) == value


def test_the_true_coefficients_are_recovered(lending):
    z = z_scores(with_intercept(lending.X), lending.y, TRUE)
    assert np.abs(z).max() < 4


@pytest.mark.parametrize("position", [0, 5, 10])
def test_a_wrong_coefficient_is_not_recovered(lending, position):
    wrong = TRUE.copy()
    wrong[position] += 0.4
    z = z_scores(with_intercept(lending.X), lending.y, wrong)
    assert np.abs(z[position]) > 4


def test_the_group_adds_nothing_once_the_features_are_known(lending):
    group = (lending.sensitive["group"] == "B").to_numpy(float)
    design = np.column_stack([with_intercept(lending.X), group])
    assert np.abs(z_scores(design, lending.y, np.append(TRUE, 0.0))[-1]) < 4


def test_groups_differ_in_repayment_through_proxies(lending):
    group_b = lending.sensitive["group"] == "B"
    assert lending.y[~group_b].mean() - lending.y[group_b].mean() > 0.08
    assert np.corrcoef(lending.X["neighbourhood_index"], group_b)[0, 1] < -0.6
    assert abs(np.corrcoef(lending.X["lucky_number"], group_b)[0, 1]) < 0.02


def test_substitutes_are_correlated_and_the_lucky_number_is_not(lending):
    correlation = lending.X.corr()
    assert correlation.loc["debt_to_income", "credit_utilisation"] > 0.6
    assert correlation.loc["income_index", "savings_index"] > 0.4
    assert correlation["lucky_number"].drop("lucky_number").abs().max() < 0.02


def test_rows_fit_the_unit_ball_and_the_truth_fits_radius_four(lending):
    assert (np.linalg.norm(lending.X, axis=1) > 1).mean() < 0.10
    assert 3.5 < np.linalg.norm(TRUE) < 4
    assert lending.X.abs().max().max() <= 0.5


def test_there_is_something_to_learn(lending):
    score = with_intercept(lending.X) @ TRUE
    base_rate = lending.y.mean()
    assert 0.4 < base_rate < 0.8
    assert roc_auc_score(lending.y, score) > 0.8
    assert ((score > 0) == lending.y).mean() > max(base_rate, 1 - base_rate) + 0.1


def test_labels_are_calibrated(lending):
    """Expected and observed repayments agree in every tenth of the true score."""
    chance = 1 / (1 + np.exp(-with_intercept(lending.X) @ TRUE))
    for part in np.array_split(np.argsort(chance), 10):
        spread = np.sqrt((chance[part] * (1 - chance[part])).sum())
        assert abs(lending.y.to_numpy()[part].sum() - chance[part].sum()) < 4.5 * spread


def test_generation_is_fast():
    def generate():
        simulate_lending.cache_clear()
        simulate_lending()

    rng, table = np.random.default_rng(0), (50_000, 12)
    assert processor_time(generate) < 12 * processor_time(lambda: rng.normal(size=table))
