"""Boards: several fitted models, or their predictions of the rows, by name."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeRegressor

from rashomon_explorer import audit
from rashomon_explorer.exceptions import MissingAnswerError

RNG = np.random.default_rng(2)
X = pd.DataFrame(RNG.standard_normal((400, 3)), columns=list("abc"))
LABELS = np.where(X["a"] + X["b"] + RNG.standard_normal(400) > 0, "yes", "no")
NUMBERS = (X["a"] + X["b"]).to_numpy()
TRAIN, TEST = X.iloc[:200], X.iloc[200:]
Y = LABELS[200:]
OPTIONS = {"groups": np.where(TEST["c"] > 0, "u", "v"), "tolerance": 0.5}
KINDS = {"log": LogisticRegression(), "forest": RandomForestClassifier(20, random_state=0)}
MODELS = {name: model.fit(TRAIN, LABELS[:200]) for name, model in KINDS.items()}
MODELS["bayes"] = GaussianNB().fit(TRAIN, LABELS[:200])
SHARES = pd.DataFrame({name: model.predict_proba(TEST)[:, 1] for name, model in MODELS.items()})


class Foreign:
    """A classifier of another library: it predicts, and says nothing of its kind."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, model):
        self.predict, self.predict_proba = model.predict, model.predict_proba


@pytest.mark.parametrize(
    "board",
    [
        SHARES,
        {name: model.predict_proba(TEST) for name, model in MODELS.items()},
        {name: Foreign(model) for name, model in MODELS.items()},
        {**MODELS, "forest": SHARES["forest"].tolist()},
    ],
)
def test_predictions_answer_as_the_models_that_made_them(board):
    expected = audit(MODELS, TEST, Y, wanted="yes", **OPTIONS)
    found = audit(board, TEST, Y, wanted="yes", **OPTIONS)
    assert expected.models.names == found.models.names == tuple(MODELS)
    assert found.flips.equals(expected.flips) and found.flips["flips"].any()
    assert found.rates.equals(expected.rates) and found.gaps.equals(expected.gaps)
    assert ": log, forest, bayes" in str(found)
    other_rule = {"threshold": 0.4, "wanted": "yes", **OPTIONS}
    flips, others = (audit(models, TEST, Y, **other_rule).flips for models in (board, MODELS))
    assert flips.equals(others) and not flips.equals(found.flips)


def test_models_of_different_columns_are_compared():
    part = LogisticRegression().fit(TRAIN[["a", "b"]], LABELS[:200])
    found = audit({**MODELS, "part": part}, TEST, Y, **OPTIONS)
    assert found.models.names == (*MODELS, "part")
    assert np.allclose(found.answers.model_scores[3], part.predict_proba(TEST[["a", "b"]])[:, 1])


def test_labels_and_numbers_are_told_from_the_targets():
    labels = {name: model.predict(TEST) for name, model in MODELS.items()}
    found = audit(labels, TEST, Y, **OPTIONS)
    assert found.models.loss == "zero_one" and found.task == "classification"
    listed = audit(list(labels.values()), TEST.to_numpy(), Y, **OPTIONS)
    assert found.flips.reset_index(drop=True).equals(listed.flips)
    models = [LinearRegression(), DecisionTreeRegressor(max_depth=6)]
    fitted = [model.fit(TRAIN, NUMBERS[:200]) for model in models]
    numbers = [model.predict(TEST) for model in fitted]
    ranges = [audit(board, TEST, NUMBERS[200:], tolerance=9.0) for board in (fitted, numbers)]
    assert ranges[0].person_ranges.equals(ranges[1].person_ranges)


def test_what_needs_other_rows_is_absent_of_predictions(tmp_path):
    found = audit(SHARES, TEST, Y, **OPTIONS)
    with pytest.raises(MissingAnswerError, match="these are predictions"):
        found.importance  # noqa: B018
    with pytest.raises(TypeError, match="pass fitted models"):
        found.flips_of(TEST.head(2))
    assert '"importance": []' in found.to_json() and ".importance" not in str(found)
    found.report(tmp_path / "board.html", interactive=False)


def test_results_of_statsmodels_are_compared_whatever_their_likelihood():
    sm = pytest.importorskip("statsmodels.api")
    target, design = (Y == "yes").astype(int), sm.add_constant(TEST)
    results = {"logit": sm.Logit(target, design).fit(disp=0)}
    results["probit"] = sm.Probit(target, design).fit(disp=0)
    found = audit(results, design, target, tolerance=0.5)
    assert found.models.names == ("logit", "probit")
    expected = np.stack([result.predict(design) for result in results.values()])
    assert np.allclose(found.answers.model_scores, expected)
    single = audit(results["logit"], design, target)
    assert single.compare(sm.Logit(target, design[["const", "a"]]).fit(disp=0)).excess > 0
    with pytest.raises(TypeError, match="not fitted"):
        audit(sm.Logit(target, design), design, target)


@pytest.mark.parametrize(
    ("board", "text"),
    [
        (object(), "object does not predict targets"),
        (None, "NoneType does not predict targets"),
        (len, "does not predict targets"),
        (Foreign(MODELS["log"]), "cannot be fitted again.*audit\\({'first'"),
        ([], "a list or mapping of them"),
        (np.zeros((2, 200)), "a list or mapping of them"),
        ([object()], "model 0 must be a fitted model or one prediction for each of 200 rows"),
        ({"a": [0.5, 0.1]}, "a must be a fitted model or one prediction"),
        ([["u"] * 200], "must predict the labels \\['no', 'yes'\\]"),
        ({"a": np.full(200, 7.0)}, "or their probabilities"),
        ({"a": np.full((200, 3), 1 / 3)}, "probabilities of 3 classes, and y has 2"),
        (pd.DataFrame(np.zeros((200, 2)), columns=["a", "a"]), "names of models must differ"),
    ],
)
def test_what_is_no_model_and_no_prediction_is_refused_in_words(board, text):
    with pytest.raises((TypeError, ValueError), match=text):
        audit(board, TEST, Y)
