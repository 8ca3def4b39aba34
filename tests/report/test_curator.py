"""The curator's edition says what measures say, marks it, and says what it left out."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer._utils.formatting import hit_rate_text
from rashomon_explorer.measures import exact_ambiguity, multiplicity_table
from rashomon_explorer.measures.multiplicity import MEASURES
from rashomon_explorer.plots.text import number
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.report import report
from rashomon_explorer.report.sections import CURATOR
from rashomon_explorer.sets import from_estimators, from_predictions

from .conftest import figures_of, read, words_of

BAND = "curator view: not private"


def test_every_section_of_such_models_is_there(curator_text: str, models: Any) -> None:
    for section in CURATOR:
        there = f'<section id="{section.key}" class="{section.view}"' in curator_text
        assert there == section.suits(models)
    assert "Not in this report" not in curator_text


def test_every_figure_of_a_curators_section_carries_the_band(curator_text: str) -> None:
    private = {section.key for section in CURATOR if section.view == "curator"}
    seen = 0
    for section in curator_text.split("<section ")[1:]:
        key = section.split('"')[1]
        for figure in figures_of(section):
            seen += key in private
            bands = [s["label"]["text"] for s in figure["layout"].get("shapes", []) if "label" in s]
            assert (key not in private) or any(BAND in text for text in bands)
    assert seen >= 7


def test_a_choice_within_psi_is_not_said_to_have_cost_the_draws_their_guarantee(
    curator_text: str, models: Any
) -> None:
    assert models.guarantee.holds and models.hit_rate < 1
    assert "no privacy guarantee" not in curator_text


def test_no_guarantee_is_said_on_every_figure(models: Any, rows: Any, tmp_path: Path) -> None:
    bare = replace(models, guarantee=no_guarantee("nobody paid"))
    text = read(report(bare, tmp_path / "c.html", *rows[:2]))
    marked = [figure for figure in figures_of(text) if BAND in str(figure)]
    assert marked and all("no privacy guarantee" in str(figure) for figure in marked)
    assert "These models have no privacy guarantee" in words_of(text)


def test_measures_stand_with_their_definitions_and_bounds(
    curator_text: str, models: Any, rows: Any, problem: Any
) -> None:
    X = rows[0]
    table = multiplicity_table(models, X).set_index("measure")
    text = " ".join(words_of(curator_text).split())
    for name, row in table.iterrows():
        said = f"{name} {number(row['value'], 4)} {row['sampled']} {MEASURES[str(name)].meaning}"
        assert said in text
    exact = exact_ambiguity(problem, models.psi, X)
    assert f"ambiguity, exact {number(exact.lower, 4)}" in text
    assert "shortfall" in text  # how much of an exact range the draws miss


@pytest.mark.law
def test_dependent_draws_get_no_interval(rows: Any, tmp_path: Path) -> None:
    X, y, _ = rows
    exact = RashomonClassifier(psi=0.05, epsilon=400.0, n_draws=4, random_state=0).fit(X, y)
    told = words_of(read(report(exact.rashomon_set_, tmp_path / "a.html")))
    assert "interval of Clopper and Pearson" in told
    chain = replace(exact.rashomon_set_, mechanism="mala")
    told = words_of(read(report(chain, tmp_path / "b.html")))
    assert "interval of Clopper" not in told and "without an interval" in told


def test_promises_are_rounded_to_the_safe_side(curator_text: str, models: Any) -> None:
    bound = models.plan.hit_rate_bound
    written = hit_rate_text(bound)
    assert f"≥ {written.replace('%', ' %')}" in words_of(curator_text)
    assert float(written.removesuffix("%")) <= 100 * bound


def test_people_are_of_the_set_and_not_of_strays(models: Any, rows: Any, tmp_path: Path) -> None:
    X, y, _ = rows
    losses = models.losses.copy()
    losses[0] = models.least + 2 * models.psi  # a wild draw outside
    coef = models.coef.copy()
    coef[0] = [40.0, -40.0, 40.0, 0.0]
    wild = replace(models, losses=losses, coef=coef)
    inside = wild.inside().scores(X)
    width = np.ptp(inside, axis=0)
    text = " ".join(words_of(read(report(wild, tmp_path / "c.html", X, y))).split())
    table = text.split("Rows the models disagree about most")[1]
    row = int(table.split("disagreement ")[1].split()[0])
    low, high = map(float, table.split("disagreement ")[1].split()[1:3])
    assert high - low == pytest.approx(width[row], abs=2e-4)


def test_people_are_the_same_however_many_rows_are_read_at_once(
    models: Any, rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, _ = rows
    whole = read(report(models, tmp_path / "a.html", X, y, interactive=False))
    monkeypatch.setattr("rashomon_explorer.report.sections.people._MOST_SCORES", 100)
    assert read(report(models, tmp_path / "b.html", X, y, interactive=False)) == whole


def test_when_no_draw_is_inside_it_says_whose_the_measures_are(rows: Any, tmp_path: Path) -> None:
    X, y, _ = rows
    clf = RashomonClassifier(epsilon=0.01, n_draws=3, random_state=0).fit(X, y)
    assert clf.rashomon_set_.hit_rate == 0
    text = words_of(read(report(clf.rashomon_set_, tmp_path / "c.html", X, y)))
    assert "Multiplicity of all draws" in text and "all draws" in text
    assert (
        "lower bound" not in text.split("Multiplicity of all draws")[1].split("Ranges of coef")[0]
    )


@pytest.fixture(scope="module")
def others(rows: Any) -> dict[str, Any]:
    X, y, _ = rows
    trees = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(X, y) for d in (1, 2, 3)]
    chances = np.array([tree.predict_proba(X)[:, 1] for tree in trees])
    return {
        "estimators": (from_estimators(trees, X, y, psi=0.5), X),
        "predictions": (from_predictions(chances, y, psi=9.0), None),
    }


@pytest.mark.parametrize("source", ["estimators", "predictions"])
def test_sets_from_anywhere(source: str, others: Any, rows: Any, tmp_path: Path) -> None:
    models, X = others[source]
    text = words_of(read(report(models, tmp_path / "c.html", X, rows[1], groups=rows[2])))
    reasons = text.split("Not in this report, and why")[1]
    for title in ("The plan in words", "Certificates", "Ranges of coefficients"):
        assert f"{title}:" in reasons
    assert "Multiplicity of the Rashomon set" in text and "no privacy guarantee" in text


def test_a_regression(rows: Any, tmp_path: Path) -> None:
    X, _, groups = rows
    y = X["age"].to_numpy()
    clf = RashomonRegressor(epsilon=200.0, n_draws=8, random_state=0).fit(X, y)
    text = words_of(read(report(clf.rashomon_set_, tmp_path / "c.html", X, y, groups=groups)))
    assert (
        "range_width" in text and "ambiguity" not in text.split("Multiplicity")[1].split("Def")[0]
    )
    assert "target_bounds=(-1.0, 1.0)" in text


def test_nothing_but_the_set(models: Any, tmp_path: Path) -> None:
    reasons = words_of(read(report(models, tmp_path / "c.html"))).split("Not in this report")[1]
    assert "no rows were given" in reasons and "constants" in reasons


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"X": [[0.1, 0.2]]}, ValueError, r"X must have shape \(n_rows, 3\)"),
        ({"X": np.zeros((4, 3)), "y": [0, 1]}, ValueError, "the same number of rows"),
        ({"X": np.zeros((4, 3)), "groups": list("ab")}, ValueError, "the same number of rows"),
        ({"X": np.zeros((1, 3)), "y": [[1]]}, ValueError, r"y must have shape \(n_rows,\)"),
        ({"problem": "age"}, TypeError, "declared_problem"),
        ({"rows": 3}, TypeError, "rows"),
    ],
)
def test_bad_input(
    models: Any, tmp_path: Path, given: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        report(models, tmp_path / "card.html", **given)
    assert not list(tmp_path.iterdir())


def test_a_problem_of_other_rows_is_refused(models: Any, problem: Any, tmp_path: Path) -> None:
    other = replace(models, minimum=replace(models.minimum, value=0.1))
    with pytest.raises(ValueError, match="differs from that of the draws"):
        report(other, tmp_path / "card.html", problem=problem)


def test_groups_keep_their_name(curator_text: str) -> None:
    assert "Multiplicity by region" in curator_text
    assert "north" in curator_text


def test_unknown_groups_are_an_error_that_says_so(models: Any, rows: Any, tmp_path: Path) -> None:
    groups = pd.Series([None, *rows[2][1:]], name="region")
    with pytest.raises(ValueError, match="group"):
        report(models, tmp_path / "card.html", *rows[:2], groups=groups)
