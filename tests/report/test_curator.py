"""The curator's edition says what measures say, marks it, and says what it omits."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from rashomon_explorer import RashomonClassifier, data
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures import exact_ambiguity, multiplicity_table
from rashomon_explorer.measures.multiplicity import MEASURES
from rashomon_explorer.plots.text import at_least, number, percent
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.report import material, report
from rashomon_explorer.report.sections.people import people_curator
from rashomon_explorer.rows import chunk_rows
from rashomon_explorer.sets import from_estimators, from_predictions

from .conftest import figures_of, read, words_of

BAND = "curator view: not private"


def test_no_guarantee_is_said_on_every_figure(models, rows, tmp_path):
    assert models.guarantee.holds and models.hit_rate < 1  # a selection within ψ has cost nothing
    bare = replace(models, guarantee=no_guarantee("nobody paid"))
    text = read(report(bare, tmp_path / "c.html", rows[0]))
    marked = [figure for figure in figures_of(text) if BAND in str(figure)]
    assert marked and all("no privacy guarantee" in str(figure) for figure in marked)
    assert "These models have no privacy guarantee" in words_of(text)


def test_measures_stand_with_their_definitions_and_bounds(curator_text, models, rows, problem):
    table = multiplicity_table(models, rows[0]).set_index("measure")
    text = " ".join(words_of(curator_text).split())
    for name, row in table.iterrows():
        value = f"{name} {number(row['value'], 4)} {row['sampled']}"
        assert f"{value} {MEASURES[str(name)].meaning}" in text
    share = f"{percent(table.loc['ambiguity', 'value'])} of {len(rows[0])} people"
    assert share in text and "ambiguity " not in str(figures_of(curator_text)[0]["layout"]["title"])
    exact = exact_ambiguity(problem, models.psi, rows[0])
    assert f"ambiguity, exact {number(exact.lower, 4)}" in text
    assert "no privacy guarantee" not in text and "Multiplicity by region" in text
    assert "shortfall" in text  # how much of an exact range the draws miss
    assert f"Draws within ψ {at_least(models.plan.hit_rate_bound)}" in text


@pytest.mark.law
def test_dependent_draws_get_no_interval(rows, tmp_path):
    X, y, _ = rows
    exact = RashomonClassifier(psi=0.05, epsilon=400.0, n_draws=4, random_state=0).fit(X, y)
    words = words_of(read(report(exact.rashomon_set_, tmp_path / "a.html")))
    assert "interval of Clopper and Pearson" in words
    chain = replace(exact.rashomon_set_, mechanism="hit_and_run")
    words = words_of(read(report(chain, tmp_path / "b.html")))
    assert "interval of Clopper" not in words and "without an interval" in words


def test_people_are_of_the_set_however_many_rows_are_read_at_once(models, rows, monkeypatch):
    X, y, _ = rows
    losses, coef = models.losses.copy(), models.coef.copy()
    losses[0], coef[0] = models.least + 2 * models.psi, [40.0, -40.0, 40.0, 0.0]  # far outside
    wild = replace(models, losses=losses, coef=coef)
    width = np.ptp(wild.inside().scores(X), axis=0)
    given = material.curator_material(wild, X, y, None, None)
    once = people_curator(given)[-1].frame
    found = once["largest score"] - once["least score"]
    assert found.to_numpy() == pytest.approx(width[once.index])
    monkeypatch.setattr("rashomon_explorer.report.sections.people._MOST_SCORES", 100)
    assert people_curator(given)[-1].frame.equals(once)


@pytest.mark.parametrize("source", ["estimators", "predictions", "draws alone"])
def test_what_a_set_does_not_have_is_omitted_with_a_reason(source, models, rows, tmp_path):
    X, y, groups = rows
    trees = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(X, y) for d in (1, 2, 3)]
    chances = np.array([tree.predict_proba(X)[:, 1] for tree in trees])
    found, inputs = {
        "estimators": (from_estimators(trees, X, y, psi=0.5), (X, y)),
        "predictions": (from_predictions(chances, y, psi=9.0), (None, y)),
        "draws alone": (models, ()),
    }[source]
    options = {"groups": groups} if inputs else {}
    path = report(found, tmp_path / "c.html", *inputs, **options, interactive=False)
    text, _, reasons = words_of(read(path)).partition("Not in this report, and why")
    if source == "draws alone":
        assert "no rows were given" in reasons
        return
    for title in ("The plan in words", "Ranges of coefficients"):
        assert f"{title}:" in reasons
    assert "Multiplicity of the Rashomon set" in text and "no privacy guarantee" in text


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ({"X": [[0.1, 0.2]]}, ValueError, r"X must have shape \(n_rows, 3\)"),
        ({"X": np.zeros((4, 3)), "y": [0, 1]}, ValueError, "the same number of rows"),
        ({"X": np.zeros((4, 3)), "groups": list("ab")}, ValueError, "the same number of rows"),
        ({"X": np.eye(2, 3), "y": [0, 1], "groups": [None, "a"]}, ValueError, "no group for row 0"),
        ({"X": np.zeros((1, 3)), "y": [[1]]}, ValueError, r"y must have shape \(n_rows,\)"),
        ({"problem": "age"}, TypeError, "declared_problem"),
        ({"rows": 3}, TypeError, "rows"),
    ],
)
def test_bad_input(models, tmp_path, inputs, error, message):
    with pytest.raises(error, match=message):
        report(models, tmp_path / "card.html", **inputs)
    assert not list(tmp_path.iterdir())


def test_a_problem_with_another_least_loss_is_refused(problem):
    def check(shift):
        least = SimpleNamespace(value=problem.minimum.value + shift, gap=problem.minimum.gap)
        material._check_problem(SimpleNamespace(minimum=least), problem)

    check(0.0)
    with pytest.raises(ValueError, match=r"differs from that of the draws by 0\.005"):
        check(5e-3)


def test_targets_and_groups_of_a_sample_are_those_of_its_rows(models, rows, monkeypatch):
    monkeypatch.setattr(material, "PEOPLE", 50)
    X = rows[0].to_numpy()
    y, groups = (X[:, 0] > 0).astype(int), np.where(X[:, 1] > 0, "up", "down")
    chunks = replace(chunk_rows(X, y), rows=64)
    people = material.curator_material(models, chunks, None, groups, None).people
    assert people.X.shape == (50, 3)
    assert people.y.tolist() == (people.X[:, 0] > 0).astype(int).tolist()
    assert people.groups.tolist() == np.where(people.X[:, 1] > 0, "up", "down").tolist()


NAMED = {
    "table": "loans", "author": "A. Curator", "date": "2026-11-24", "target": "repaid",
    "classes": ["no", "yes"], "bounds": {"age": "numeric 18 to 90 years"},
}  # fmt: skip


@pytest.mark.slow
def test_the_first_page_of_both_editions_says_what_of_whom_and_when(models, rows, tmp_path):
    X, y, *_ = rows
    codes = np.unique(y, return_inverse=True)[1]
    coded = replace(models, classes=(0, 1))
    files = (
        report(coded, tmp_path / "curator.html", X, codes, **NAMED),
        report(coded.release(), tmp_path / "release.html", **NAMED),
    )
    for path in files:
        page = read(path)
        summary = re.search(r'<section id="summary".*?</section>', page, re.DOTALL)[0]
        assert page.index(summary) == page.index("<section")
        assert all(NAMED[name] in summary for name in ("table", "author", "date", "target"))
        assert "classes: no, yes" in summary and "class 1" not in page
        assert "<title>Rashomon set of loans" in page
        assert summary.count("<li>") == 3 and "Limits" in summary  # three findings
        assert page.index(summary) < page.index("<nav") < page.index('<section id="data"')
        (shown,) = figures_of(summary)
        margin = shown["layout"]["margin"]
        assert shown["layout"]["height"] - margin["t"] - margin.get("b", 0) >= 220
        assert "numeric 18 to 90 years" in page
        assert "\u0395 = " not in page  # ε has no capital
    inside = round(models.hit_rate * models.n_draws)
    assert f"{inside:,} of {models.n_draws} models lie within ψ = {number(models.psi)}" in read(
        files[0]
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_with_a_schema_columns_and_coefficients_are_in_units_of_the_table(tmp_path):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"wage": rng.uniform(1_000, 3_000, 200), "home": ["own", "rent"] * 100})
    y = np.where(table["wage"] + 300 * rng.normal(size=200) > 2_000, "yes", "no")
    wage = data.Numeric("wage", (0, 9_000), typical=(1_000, 3_000), unit="€")
    target = data.YesNo("paid", ["no", "yes"], role="target")
    schema = data.TableSchema([wage, data.Categorical("home", ["own", "rent"]), target])
    settings = {"psi": 0.2, "epsilon": 120.0, "n_draws": 5, "random_state": 1, "ridge": 0.1}
    settings |= {"mechanism": "exact", "radius": 4.0}
    rows = data.TableEncoder(data.TableSchema(schema.columns[:2])).fit_transform(table)
    models = RashomonClassifier(**settings, classes=["no", "yes"]).fit(rows, y).rashomon_set_
    size = 1_000 * np.sqrt(2 / 3)  # half of the typical range, of one of two features of size 1
    medians = np.median(models.coef, axis=0) / [size, 1, 1, 1]
    options = {"schema": schema, "interactive": False}
    private = read(report(models, tmp_path / "a.html", rows, **options, author="Ada"))
    public = read(report(models.release(), tmp_path / "b.html", **options))
    for text_ in map(words_of, (private, public)):
        assert "paid" in text_ and "no, yes" in text_ and "0 to 9,000 €" in text_
        (found,) = re.findall(r"per unit of the table.*?wage\s+\S+\s+(\S+)", text_, re.DOTALL)
        assert found == number(float(medians[0]), 4)
    assert models.hit_rate == 1 and "Ada" in private
    with pytest.raises(CuratorOnlyError, match="confirm"):
        proposed = data.propose_schema(table.assign(paid=y), target="paid")
        report(models.release(), tmp_path / "c.html", schema=proposed)
    mean = float(np.clip(table["wage"], 0, 9_000).mean())
    pattern = r"in units of the table.*?typically 1,000 to 3,000\s+\S+\s+(\S+)\s+\S+\s+€"
    (found,) = re.findall(pattern, words_of(private), re.DOTALL)
    assert float(found.replace(",", "")) == pytest.approx(mean, rel=0.05)  # but for clipped rows
