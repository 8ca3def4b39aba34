import hashlib

import numpy as np
from sklearn.linear_model import LogisticRegression

from rashomon_explorer.data import LENDING_COEFFICIENTS, load_dataset

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


def test_the_checksum_is_that_of_these_rows_and_notices_one_label(lending):
    assert digest(lending) == CHECKSUM
    changed = load_dataset("lending")
    changed.y.iloc[123] = 1 - changed.y.iloc[123]
    assert digest(changed) != CHECKSUM


def test_the_true_coefficients_and_no_others_are_recovered(lending):
    """Also with the group as a feature, which adds nothing once the features are known."""
    group = (lending.sensitive["group"] == "B").to_numpy(float)
    design = np.column_stack([with_intercept(lending.X), group])
    assert np.abs(z_scores(design, lending.y, np.append(TRUE, 0.0))).max() < 4
    for position in (0, 5, 10):  # negative control
        wrong = TRUE.copy()
        wrong[position] += 0.4
        assert np.abs(z_scores(design[:, :-1], lending.y, wrong)[position]) > 4
