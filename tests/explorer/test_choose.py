"""The view in which a preference chooses a good model."""

import asyncio

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from rashomon_explorer import audit
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.panels import choose


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((120, 4)), columns=list("abcd"))
    y = np.where(X["a"] + 0.3 * X["b"] + rng.logistic(size=120) > 0, "yes", "no")
    groups = pd.Series(np.where(X["c"] > 0, "old", "young"), name="age")
    model = LogisticRegression().fit(X, y)
    return audit(model, X, y, tolerance="2%", groups=groups, wanted="yes", n_models=50)


@pytest.fixture
def page(found, tmp_path):
    explorer = Explorer(found, home=tmp_path)
    explorer.state.page = "choose"
    return explorer


def test_a_preference_shows_its_model_proof_cost_price_and_python(page, found):
    panel, expected = page.choice_panel, found.choose("sparse", seconds=2.0)
    assert page.choice.preferred == expected.preferred and page.choice.psi == found.psi
    assert "no good model has less" in panel.facts.value and "branch and bound" in panel.facts.value
    assert "model = found.choose(&#x27;sparse&#x27;, seconds=2.0).model" in panel.facts.value
    figure = page.cards["price"]
    assert figure.call.found if figure.call.measure else not figure.call.is_message
    assert len(page.state.prices) == len(page.state.choices) == 7
    for label in panel.prefer.options:
        panel.prefer.value = label
        assert page.state.alert is None and len(page.state.choices) == 7
    panel.prefer.value = "Fewest features"
    most = max(page.state.choices)
    figure.view.clicked = {"x": most * 1.001, "trace": 0}
    assert page.choice is page.state.choices[most] and f"psi={most!r}" in panel.facts.value


def test_without_an_exact_audit_the_view_says_what_to_do(explorer):
    explorer.state.page = "choose"
    assert "Fit and audit" in explorer.choice_panel.facts.value
    assert explorer.choice is None and not explorer.choice_panel.lines()


def test_a_release_holds_no_choice(page):
    page.state.view = "release"
    assert page.choice is None and page.state.prices is None
    assert "private rows" in page.choice_panel.facts.value
    page.state.view = "curator"
    assert page.choice is not None


def test_stop_keeps_what_was_chosen(found, tmp_path, monkeypatch):
    async def visit():
        explorer = Explorer(found, home=tmp_path)
        panel, choose_at = explorer.choice_panel, choose.choice_at

        def stopping(audit, psi, *rest):
            if psi != found.psi:
                panel._ended.set()
            return choose_at(audit, psi, *rest)

        monkeypatch.setattr(choose, "choice_at", stopping)
        explorer.state.page = "choose"
        while panel.task.running:
            await asyncio.sleep(0.01)
        return explorer

    explorer = asyncio.run(visit())
    assert explorer.choice is not None and len(explorer.state.choices) == 1
