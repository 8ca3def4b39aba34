"""Headlines of cards: plain sentences of at most 20 words, for every kind of set and model."""

import re

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import Ridge

from rashomon_explorer.audits import audit
from rashomon_explorer.data import load_dataset
from rashomon_explorer.exceptions import CuratorOnlyError, DataError
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.messages import headline
from rashomon_explorer.explorer.selection import most_different_models, score_beside_constant
from tests.explorer.pages import set_state

FREE = {"mechanism": "hit_and_run", "n_draws": 5}
SETS = {
    "free look": ("loans", {}), "no model within ψ": ("monks1", {"n_draws": 3, "epsilon": 1.0}),
    "trees": ("monks1", {"family": "trees", "max_leaves": 3, "n_draws": 4}),
    "several classes": ("wine", FREE), "regression": ("diabetes", FREE),
    "forest": ("breast_cancer", None),
}  # fmt: skip


SLOW = {"class_reliance", "importance_distribution", "importance_cloud", "importance"}


def _plain(markup):
    return re.sub(r"<[^>]+>", " ", markup).replace("&#x27;", "'").replace("&quot;", '"')


def _poor(words):
    """What a refusal must not have: names of code, quotes, more than 20 words."""
    return len(words.split()) > 20 or re.search(r"[\[_'\"]|[a-z][A-Z]", words)


QUICK = ("free look", "no model within ψ")


@pytest.fixture(
    params=[pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in SETS]
)
def page(request, tmp_path):
    name, settings = SETS[request.param]
    if name == "loans":
        return request.getfixturevalue("loans")
    data = load_dataset(name)
    if settings is None:
        X, y = data.X.iloc[:200, :4], data.y[:200]
        forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
        return Explorer(audit(forest, X, y, random_state=0), home=tmp_path)
    page = Explorer(data=data, home=tmp_path)
    set_state(page, **settings)
    page.draw()
    return page


def test_every_refusal_is_one_plain_sentence(page):
    for view in ("curator", "release"):
        page.state.view = view
        for name in set(page.cards) - SLOW:
            card = page.cards.placed(name)
            card.redraw()
            words = card.view.figure["layout"].get("annotations", ())
            refused = [_plain(one["text"]) for one in words if one.get("name") == "empty"]
            assert not [one for one in refused if _poor(one)], (name, view, refused)
        summary = _plain(page.people_headline.find() + page.people_table.notice.value)
        assert not re.search(r"\[|_|'\w+'|[a-z][A-Z]", summary)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (DataError("The column age has no number: write one"), "The column age has no number."),
        (DataError("models must be one of ['exact', 'langevin'], got 'x'"), "not be drawn"),
        (DataError("use RashomonTreeClassifier(…)"), "not be drawn"),
        (DataError("word " * 21), "not be drawn"),
        (ValueError("operands could not be broadcast"), "not be drawn"),
        (CuratorOnlyError("ReleasedSet has no losses"), "is not part of a release"),
    ],
)
def test_an_error_is_a_sentence_and_its_full_text_is_elsewhere(error, words):
    assert words in headline(error) and not _poor(headline(error))


@pytest.mark.slow
def test_a_score_stands_beside_that_of_the_constant_model(loans, tmp_path):
    right = loans.rashomon_set.best_scores(loans.rows) > 0.5
    accuracy, share = (right == loans.targets).mean(), loans.targets.mean()
    always = f"always {int(share > 0.5)} {max(share, 1 - share):.1%}"
    assert score_beside_constant(loans.session) == f"best model {accuracy:.1%} · {always}"
    loans.state.view = "release"
    assert score_beside_constant(loans.session) == ""
    page = Explorer(data=load_dataset("diabetes"), home=tmp_path)
    set_state(page, **FREE)
    page.draw()
    model = Ridge(1e-9).fit(page.rows, page.targets)
    words = f"R² {model.score(page.rows, page.targets):.2f}"
    assert words in score_beside_constant(page.session)
    losses = page.cards["importance"].call.found()  # in the unit of the losses beside it
    shuffled = permutation_importance(model, page.rows, page.targets, random_state=0)
    mse = shuffled.importances_mean[2] * page.targets.var()
    assert losses["bmi"].to_numpy()[-1] == pytest.approx(mse / 2 / 175**2, rel=0.2)


def test_something_is_chosen_where_nobody_chose(loans):
    coef, rows = loans.rashomon_set.coef, loans.rows
    assert set(loans.session.ranked_features[:2]) == {"age", "debt"}
    for card, view in ((loans.cards["pair"], "curator"), (loans.cards["pair"], "release")):
        loans.state.view = view
        card.redraw()
        assert "two most different" in card.view.figure["layout"]["title"]["text"] or not card.lines
    loans.state.view = "curator"
    first, second = most_different_models(loans.session)
    assert np.linalg.norm(coef[first] - coef[second]) > np.linalg.norm(coef.std(axis=0))
    loans.session.rows = rows.assign(age=0.3)  # a constant column is never the most important
    assert loans.session.ranked_features[-1] == "age"
