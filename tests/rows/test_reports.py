"""Reports, width or noise, Shapley values and reliance of rows in blocks are those of all rows."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer.measures import disagreement_decomposition, model_reliance
from rashomon_explorer.measures.importance import linear_shap, shap_importance
from rashomon_explorer.report import material, report
from rashomon_explorer.rows import ChunkedRows, chunk_rows
from rashomon_explorer.sets import RashomonSet

N, BLOCK = 900, 128
RNG = np.random.default_rng(11)
X = RNG.uniform(-0.6, 0.6, size=(N, 3))
GROUPS = np.array(["north", "south"])[(np.arange(N) > 500).astype(int)]
Y = {
    "two": (X[:, 0] + RNG.normal(0, 0.4, N) > 0).astype(int),
    "three": np.digitize(X[:, 0] + RNG.normal(0, 0.3, N), [-0.2, 0.2]),
    "number": np.clip(X[:, 0] + RNG.normal(0, 0.2, N), -1, 1),
}


@cache
def drawn(kind: str) -> RashomonSet:
    own = {"psi": 0.2, "n_draws": 8, "mechanism": "exact", "radius": 1.0, "random_state": 0}
    if kind == "number":
        model: Any = RashomonRegressor(target_bounds=(-1, 1), epsilon=200.0, **own)
    else:
        model = RashomonClassifier(epsilon=200.0, **own)
    models: RashomonSet = model.fit(X, Y[kind]).rashomon_set_
    return models


def blocked(y: Any = None) -> ChunkedRows:
    rows = chunk_rows(X, labelled=False) if y is None else chunk_rows(X, y)
    return replace(rows, rows=BLOCK)


@pytest.mark.parametrize("kind", ["two", "three"])
@pytest.mark.parametrize("measure", ["disagreement", "score_variance"])
def test_width_or_noise_is_that_of_all_rows(kind: str, measure: str) -> None:
    models = drawn(kind)
    whole = disagreement_decomposition(models, X, measure=measure, groups=GROUPS)
    found = disagreement_decomposition(models, blocked(), measure=measure, groups=GROUPS)
    for name in ("total", "width", "noise", "share_of_noise", "hit_rate"):
        for end in ("value", "low", "high"):
            ours, theirs = (getattr(getattr(of, name), end) for of in (found, whole))
            assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12, nan_ok=True)
    pd.testing.assert_frame_equal(found.groups, whole.groups, rtol=1e-9, atol=1e-12)
    pd.testing.assert_frame_equal(found.parts, whole.parts, rtol=1e-9, atol=1e-12)
    assert disagreement_decomposition(models, blocked(), measure=measure).groups is None


def test_a_block_that_is_left_out_is_seen() -> None:
    """Control: fewer rows, other numbers."""
    short = replace(chunk_rows(X[: N - 200], labelled=False), rows=BLOCK)
    whole, found = (disagreement_decomposition(drawn("two"), rows) for rows in (X, short))
    assert abs(found.total.value - whole.total.value) > 1e-6
    ours, theirs = (shap_importance(drawn("two"), rows).to_numpy() for rows in (short, X))
    assert (np.abs(ours - theirs) > 1e-9).all()


@pytest.mark.parametrize("kind", ["two", "three", "number"])
def test_shapley_values_add_up_over_blocks(kind: str) -> None:
    models = drawn(kind)
    for options in ({}, {"background": X[:40]}, {"features": {"n": ["x0", "x1"], "x2": ["x2"]}}):
        whole = shap_importance(models, X, **options)
        sizes = np.abs(linear_shap(models, X, **options)).mean(axis=1)
        np.testing.assert_allclose(whole, sizes.sum(axis=2) if sizes.ndim == 3 else sizes)
        found = shap_importance(models, blocked(), **options)
        pd.testing.assert_frame_equal(found, whole, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("form", ["difference", "ratio"])
def test_reliance_under_squared_loss_is_of_moments(form: Any) -> None:
    models, y = drawn("number"), Y["number"]
    whole = model_reliance(models, X, y, form=form)
    found = model_reliance(models, blocked(y), form=form)
    pd.testing.assert_frame_equal(found, whole, rtol=1e-11, atol=1e-12)
    with pytest.raises(TypeError, match=r"logistic loss needs all pairs of rows.*rows\.sample"):
        model_reliance(drawn("two"), blocked(Y["two"]))


def numbers(path: Path, *captions: str) -> dict[str, list[str]]:
    """Cells of the tables with these captions."""
    text, found = path.read_text(encoding="utf-8"), {}
    for caption in captions:
        start = text.index(f">{caption}<")
        table = text[start : text.index("</table>", start)]
        found[caption] = re.findall(r"<t[dh][^>]*>([^<]*)<", table)
    return found


def test_a_report_of_blocks_has_the_numbers_of_all_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(material, "PEOPLE", 200)
    models, y = drawn("two"), Y["two"]
    asked: dict[str, Any] = {"groups": pd.Series(GROUPS, name="region"), "interactive": False}
    held = report(models, tmp_path / "held.html", X, y, **asked)
    found = report(models, tmp_path / "blocks.html", blocked(y), **asked)
    same = (
        "Multiplicity of the Rashomon set",
        "How unequal are almost equally good models?",
        "Features, as the models take them",
        "Classes",
        "Decomposition",
        "Multiplicity over the threshold",
    )
    assert numbers(found, *same) == numbers(held, *same)
    told = "this section shows a fixed random sample of 200 of "
    assert found.read_text(encoding="utf-8").count(told) == 2
    assert told not in held.read_text(encoding="utf-8")


def test_groups_of_a_report_are_a_column(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"]).assign(region=GROUPS, y=Y["two"])
    rows = replace(chunk_rows(frame, target="y", columns=["x0", "x1", "x2", "region"]), rows=BLOCK)
    only = rows.then(_Numbers())
    path = report(drawn("two"), tmp_path / "r.html", only, groups="region", interactive=False)
    assert "Groups by region" in path.read_text(encoding="utf-8")


class _Numbers:
    def __call__(self, rows: Any, y: Any) -> Any:
        return np.ascontiguousarray(rows[["x0", "x1", "x2"]].to_numpy()), y
