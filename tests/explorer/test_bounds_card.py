"""Promises on the page: live before a draw, beside the draws after it, alone in the release."""

import re
from html import unescape

import pytest

from rashomon_explorer.estimators import RashomonClassifier
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.mechanisms.bounds import convex_law, population_risk
from rashomon_explorer.plots import list_guarantees
from rashomon_explorer.plots.text import at_least, at_most, number, percent


def _words(explorer):
    return unescape(re.sub("<[^>]+>", " ", explorer.cards["bounds"].facts.value))


def _traces(explorer):
    return {trace["name"] for trace in explorer.cards["bounds"].view.figure["data"]}


@pytest.fixture
def chosen(explorer, cancer):
    explorer.session.choose(cancer)
    return explorer


def test_without_data_there_is_nothing_to_promise(explorer):
    assert explorer.constants is None
    assert _words(explorer) == ""
    assert "Choose a data set" in str(explorer.cards["bounds"].view.figure["layout"])


def test_before_a_draw_the_promises_follow_the_sliders(chosen):
    assert _traces(chosen) == {"guaranteed, at least", "a quadratic loss", "guaranteed"}
    assert "needs ridge > 0" in _words(chosen)
    assert "measured" not in _words(chosen)
    chosen.state.ridge = 0.1
    plan, known = chosen.plan, chosen.constants
    assert known == RashomonClassifier(ridge=0.1, radius=4.0).constants(*chosen.data.X.shape)
    risk = population_risk(p=plan.p, beta=plan.beta, L=known.L, m=0.1, n=plan.n, psi=plan.psi)
    assert at_most(risk) in _words(chosen)
    before = _words(chosen)
    chosen.state.psi = 0.5
    law = convex_law(p=31, beta=chosen.plan.beta, psi=0.5)
    assert at_most(law.mean) in _words(chosen)
    assert _words(chosen) != before


def test_after_a_draw_each_promise_stands_beside_what_was_measured(chosen):
    chosen.state.ridge = 0.1
    chosen.draw()
    models = chosen.rashomon_set
    assert {"draws", "measured", "chance, 95 %"} < _traces(chosen)
    words = _words(chosen)
    assert "not private" in words
    for promise in list_guarantees(models, chosen.constants):
        assert f"{promise.theorem} {promise.promised} {promise.found}" in re.sub(r"\s+", " ", words)
    assert words.count(percent(models.hit_rate)) >= 2
    assert words.count(number(float(models.excess.mean()))) == 2


def test_a_slider_moved_after_the_draw_changes_nothing_promised_of_it(chosen):
    chosen.draw()
    before, known = _words(chosen), chosen.constants
    chosen.state.psi = 0.5
    chosen.state.ridge = 1.0
    assert _words(chosen) == before
    assert chosen.constants == known


def test_the_release_shows_the_promise_alone(chosen):
    chosen.draw()
    chosen.state.view = "release"
    assert _traces(chosen) == {"guaranteed, at least", "a quadratic loss", "guaranteed"}
    words = _words(chosen)
    assert "measured" not in words
    assert "private" not in words
    assert at_least(chosen.rashomon_set.plan.hit_rate_bound) in words
    assert number(float(chosen.rashomon_set.excess.mean())) not in words


def test_draws_of_a_chain_are_not_given_the_promise(cancer, tmp_path):
    rows = cancer.X.to_numpy()[:, :2] / 1e3
    fitted = RashomonClassifier(mechanism="hit_and_run", n_draws=3, random_state=0)
    explorer = Explorer(fitted.fit(rows, cancer.y), home=tmp_path)
    assert "draws of hit_and_run, which has no guarantee" in _words(explorer)
    assert explorer.constants.p == 3
