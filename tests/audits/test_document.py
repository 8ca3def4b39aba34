"""Figures, report and JSON of an audit."""

import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier, audit, measures
from rashomon_explorer.audits import json_schema
from rashomon_explorer.exceptions import MissingAnswerError
from rashomon_explorer.report import report


@pytest.mark.parametrize(
    "kind",
    ["people", "coefficients", "groups", "importance", "gaps", "coefficient_spread", "frontier"],
)
def test_every_figure_is_the_curators(found, kind):
    figure = found.plot(kind)
    assert figure.data and figure.layout.meta["view"] in ("curator", "none")


def test_figures_take_arguments_and_other_kinds_are_refused(found):
    assert "age" in found.plot("profile", feature="age").layout.title.text
    assert found.plot("profile", feature="port").data[0].type == "bar"  # by levels of the table
    assert found.plot("importance_cloud").data
    with pytest.raises(ValueError, match="kind must be one of"):
        found.plot("budget")
    with pytest.raises(ValueError, match=r"needs more: plot\('pair', first=…\)"):
        found.plot("pair")


@pytest.fixture(scope="module")
def path(found, tmp_path_factory):
    """The audit's report."""
    return found.report(tmp_path_factory.mktemp("report") / "audit.html", interactive=False)


def test_the_report_has_every_section_and_marks_them(found, path):
    text = path.read_text(encoding="utf-8")
    headings = re.findall(r"<h2[^>]*>(.*?)</h2>", text)
    assert headings == [
        "Summary",
        "How much depends on the tolerance",
        "Whose label can flip",
        "Coefficients",
        "What each column does",
        "Who bears the multiplicity",
        "Importance of features",
        "Accuracy for single persons (EU AI Act, Art. 15)",
        "How it was computed",
    ]
    assert text.count("Curator: computed from private rows, not private") > len(headings)
    assert "This is not legal advice" in text and "<script" not in text
    flips = int(found.decided["flips"].sum())
    assert f"{flips:,} of 300" in text
    with pytest.raises(FileExistsError):
        found.report(path)


def test_sections_without_groups_or_labels_are_listed_as_left_out(regression, tmp_path):
    model, X, y = regression
    path = audit(model, X, y, tolerance="1%").report(tmp_path / "audit.html", interactive=False)
    text = path.read_text(encoding="utf-8")
    assert "no groups were given" in text and "this model predicts numbers" in text


def test_accuracy_facts_are_those_of_the_people(found, people, pipeline, regression, monkeypatch):
    X, y = people
    monkeypatch.setattr(measures, "flip_psi", None)  # which takes long, and nobody asks for
    found = replace(found)
    table = found.accuracy
    assert (table["correct"].to_numpy() == (pipeline.predict(X) == y)).all()
    ranges = found.scores(X)
    move = np.maximum(ranges["high"] - ranges["fitted"], ranges["fitted"] - ranges["low"])
    assert np.allclose(table["move"], move)
    assert (table["conflict_ratio"][~table["flips"]] == 0).all()
    with pytest.raises(MissingAnswerError, match="labels need classes"):
        _ = audit(*regression, tolerance="1%").accuracy
    drawn = np.abs(found.models.scores(found.answers.rows) - ranges["fitted"].to_numpy())
    assert (drawn.max(axis=0) <= table["move"] + 1e-9).all()


@pytest.mark.parametrize(
    "task", [pytest.param("classification", marks=pytest.mark.slow), "regression"]
)
def test_the_json_follows_its_schema(found, regression, task):
    jsonschema = pytest.importorskip("jsonschema")
    if task == "regression":
        model, X, y = regression
        found = audit(model, X, y, tolerance="1%")
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    content = json.loads(found.to_json())
    jsonschema.validate(content, schema)
    assert content["tolerance"]["psi"] == found.psi and len(content["people"]) == 300
    for change in ({"view": "public"}, {"kind": "drawn"}, {"extra": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**content, **change}, schema)


def test_every_curators_report_has_the_facts_about_accuracy(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (200, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=200) > 0).astype(int)
    fitted = RashomonClassifier(mechanism="hit_and_run", psi=0.05, n_draws=40, random_state=0)
    models = fitted.fit(X, y).rashomon_set_
    path = report(models, tmp_path / "card.html", X, y, interactive=False)
    text = path.read_text(encoding="utf-8")
    assert "EU AI Act, Art. 15" in text
    share = measures.ambiguity(models.labels(X), (models.best_scores(X) > 0.5).astype(int))
    assert f"{round(share * 200)} of 200" in text


def test_the_report_has_rates_tolerances_and_the_whole_line_of_code(found, path):
    text = unescape(path.read_text("utf-8"))
    assert "Rates of label='lived' by group" in text and "Data and choice of model" in text
    assert "The audit at multiples of its ψ" in text and "crew: no − yes" in text
    assert re.search(r"audit\(model, X, y, tolerance=[0-9.e-]+, groups='crew'\)", text)
    figure = found.plot("gap_intervals")
    bars = {bar.name: (bar.base[0], bar.base[0] + bar.x[0]) for bar in figure.data[:2]}
    row = found.gap_intervals().loc["crew: no − yes"]
    data, models = bars.values()
    assert data == pytest.approx((row["data_low"], row["data_high"]))
    assert models == pytest.approx((row["models_low"], row["models_high"]))
    lines = {line.name: list(line.y) for line in found.plot("tolerances").data}
    assert lines["people who can flip"] == found.tolerances()["share"].tolist()
