"""Reports of trees: a release is a function of what was paid for, and says what is public."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import RashomonTreeClassifier
from rashomon_explorer._utils.formatting import hit_rate_text, rounded_up
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.mechanisms.planning.advice import explain_trees
from rashomon_explorer.plots import plot_tree_use
from rashomon_explorer.plots.text import number
from rashomon_explorer.plots.trees import tree_use_table
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.release import release
from rashomon_explorer.report import curator_report, release_report, report
from rashomon_explorer.report.kinds import Trees, model_kind
from rashomon_explorer.report.sections import CURATOR, RELEASE
from rashomon_explorer.sets import CuratorSet, PredictorSet, ReleasedTrees
from rashomon_explorer.sets.models.trees import DecisionTrees, Leaf
from rashomon_explorer.trees import CountedTrees, TreeClass

from .conftest import Reader, figures_of, numbers_of, read, words_of

N = 601
SENTINELS = {"loss": 0.73419258, "least": 0.61827364}


@pytest.fixture(scope="module")
def rows() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(18, 80, N), "owns": rng.integers(0, 2, N)})
    y = np.where(rng.random(N) < 0.85, (X["age"] > 40) & (X["owns"] == 1), rng.random(N) < 0.5)
    return X, y.astype(int)


@pytest.fixture(scope="module")
def asked() -> dict[str, Any]:
    settings = {"psi": 0.1, "epsilon": 4.0, "n_draws": 6, "max_leaves": 3, "hit_rate": 0.5}
    return {**settings, "thresholds": {"age": [30.5, 40.5]}, "classes": [0, 1]}


@pytest.fixture(scope="module")
def models(rows: Any, asked: Any) -> PredictorSet:
    found: PredictorSet = RashomonTreeClassifier(**asked, random_state=0).fit(*rows).rashomon_set_
    return found


@pytest.fixture(scope="module")
def release_text(models: Any, tmp_path_factory: Any) -> str:
    return read(report(models.release(), tmp_path_factory.mktemp("releases") / "card.html"))


@pytest.fixture(scope="module")
def curator_text(models: Any, rows: Any, tmp_path_factory: Any) -> str:
    groups = pd.Series(np.where(rows[0]["owns"] == 1, "o", "r"), name="home")
    place = tmp_path_factory.mktemp("reports") / "card.html"
    return read(report(models, place, *rows, groups=groups))


def with_sentinels(models: PredictorSet) -> PredictorSet:
    """The same draws, and another table behind them: losses, least loss and best tree differ."""
    leaf = DecisionTrees((Leaf(1),), 2, models.models.feature_names)  # type: ignore[attr-defined]
    losses = np.full(models.n_draws, SENTINELS["loss"])
    return replace(models, losses=losses, least=SENTINELS["least"], reference=leaf)


class TestRelease:
    def test_what_only_rows_tell_makes_no_byte_of_difference(
        self, models: Any, tmp_path: Path
    ) -> None:
        one = read(report(models.release(), tmp_path / "one.html"))
        other = with_sentinels(models)
        assert read(report(other.release(), tmp_path / "other.html")) == one
        # The control: it makes one to the curator.
        mine = read(report(models, tmp_path / "mine.html"))
        assert read(report(other, tmp_path / "theirs.html")) != mine

    def test_no_sentinel_is_in_it_and_the_search_would_find_one(
        self, models: Any, tmp_path: Path
    ) -> None:
        other = with_sentinels(models)
        public = read(report(other.release(), tmp_path / "r.html"))
        private = read(report(other, tmp_path / "c.html"))
        for text, there in ((public, False), (private, True)):
            written = set(re.findall(r"\d+\.\d+", words_of(text)))
            shown = [value for figure in figures_of(text) for value in numbers_of(figure)]
            for value in SENTINELS.values():
                forms = {number(value, digits) for digits in range(4, 8)}
                drawn = any(abs(one - value) < 1e-6 for one in shown)
                assert (bool(forms & written) or drawn) == there

    def test_it_is_a_function_of_the_file_that_leaves(self, models: Any, tmp_path: Path) -> None:
        models.release().save(tmp_path / "trees.npz")
        again = ReleasedTrees.load(tmp_path / "trees.npz")
        assert again.plan == models.plan
        one = read(report(models.release(), tmp_path / "one.html"))
        assert read(report(again, tmp_path / "two.html")) == one

    def test_no_number_of_the_rows_is_in_it(
        self, release_text: str, curator_text: str, models: Any, rows: Any
    ) -> None:
        ages = {number(age, 9) for age in rows[0]["age"]}
        losses = {number(loss, 6) for loss in (*models.losses, models.least)}
        for text, there in ((release_text, False), (curator_text, True)):
            written = set(re.findall(r"\d+\.\d+", words_of(text)))
            shown = [value for one in figures_of(text) for value in numbers_of(one)]
            drawn = {number(value, digits) for value in shown for digits in (6, 9)}
            found = (ages | losses) & (written | drawn)
            assert bool(found) == there, found

    def test_every_section_is_there_or_says_why_not(self, release_text: str, models: Any) -> None:
        left_out = words_of(release_text).split("Not in this report, and why")[1]
        for section in RELEASE:
            there = f'<section id="{section.key}" class="{section.view}"' in release_text
            if section.suits(models):
                assert there or f"{section.title}:" in left_out
            else:
                assert not there
        assert "one certificate, the bounded range" in left_out and "coefficients" not in left_out

    def test_class_questions_price_and_promise_are_told(
        self, release_text: str, models: Any
    ) -> None:
        told, planned = " ".join(words_of(release_text).split()), models.plan
        size = TreeClass(3, 3).size
        assert f"Trees that could be drawn {size:,} at most 3 leaves" in told
        assert "age > 30.5, > 40.5" in told and "owns whether it is 1" in told
        assert f"One draw bounded range η = {rounded_up(planned.eta)}" in told
        assert "Adjacency one record is replaced" in told
        assert f"≥ {hit_rate_text(planned.hit_rate_bound).replace('%', ' %')}" in told
        for sentence in explain_trees(planned):
            assert sentence in told

    def test_every_figure_shows_who_paid(self, release_text: str) -> None:
        (section,) = [
            one for one in release_text.split("<section ") if one.startswith('id="trees"')
        ]
        figures = figures_of(section)
        assert len(figures) == 3
        for figure in figures:
            assert "released at" in str(figure["layout"]["shapes"])
        assert Reader(release_text).balanced

    def test_its_lines_make_such_trees_again(
        self, release_text: str, models: Any, rows: Any
    ) -> None:
        code = re.findall(r"<pre[^>]*><code>(.*?)</code>", release_text, re.DOTALL)[-1]
        names: dict[str, Any] = {"X": rows[0], "y": rows[1]}
        exec(code.replace("&#39;", "'"), names)
        assert names["models"].plan == models.plan

    def test_costs_are_told_and_made_again(self, rows: Any, asked: Any, tmp_path: Path) -> None:
        clf = RashomonTreeClassifier(**{**asked, "costs": {1: 3}}).fit(*rows)
        told = read(report(clf.rashomon_set_.release(), tmp_path / "c.html", interactive=False))
        assert clf.plan_.costs == ((0, 1), (3, 0))
        assert "0, 1; 3, 0" in told and "costs=[[0, 1], [3, 0]]" in told

    def test_constants_of_linear_models_are_refused(self, models: Any, tmp_path: Path) -> None:
        from rashomon_explorer import RashomonClassifier

        constants = RashomonClassifier().constants(N, 2)
        given = {"constants": constants, "domain": Ball(1.0)}
        with pytest.raises(ValueError, match="omit them for trees"):
            report(models.release(), tmp_path / "c.html", **given)

    def test_types_do_not_mix(self, models: Any, rows: Any, tmp_path: Path) -> None:
        with pytest.raises(TypeError, match="ReleasedTrees goes to release_report"):
            curator_report(models.release(), tmp_path / "c.html")
        with pytest.raises(TypeError, match=r"call \.release\(\)"):
            release_report(models, tmp_path / "c.html")
        with pytest.raises(TypeError, match="unexpected keyword"):
            report(models.release(), tmp_path / "c.html", X=rows[0])
        with pytest.raises(CuratorOnlyError):
            models.inside().release()

    def test_aggregates_of_trees_add_to_the_price(
        self, models: Any, rows: Any, tmp_path: Path
    ) -> None:
        value = release(models, *rows, queries=["mean_accuracy"], epsilon=0.5, ledger=None)
        path = report(models.release(), tmp_path / "c.html", aggregates=[value], interactive=False)
        assert "Draws and aggregates together: ε = " in words_of(read(path))

    def test_a_file_of_before_plans_has_a_report(self, models: Any, tmp_path: Path) -> None:
        bare = replace(models.release(), planned=None)
        with pytest.raises(AttributeError, match="stored no plan with trees"):
            _ = bare.plan
        told = words_of(read(report(bare, tmp_path / "c.html", interactive=False)))
        assert "no plan and no guarantee" in told and "were imported" in told


class TestCurator:
    def test_every_section_of_trees_is_there(self, curator_text: str, models: Any) -> None:
        told = words_of(curator_text)
        for section in CURATOR:
            there = f'<section id="{section.key}"' in curator_text
            assert there or not section.suits(models) or f"{section.title}:" in told
        assert '<section id="trees" class="curator"' in curator_text
        assert '<section id="coefficients"' not in curator_text

    def test_importance_and_width_are_measured_of_trees(
        self, curator_text: str, models: Any, rows: Any, tmp_path: Path
    ) -> None:
        told = words_of(curator_text)
        assert "Permutation importance" in told and '<section id="width"' in curator_text
        assert models.psi > models.plan.law_psi  # so that uniform trees were drawn beside
        other = rows[0].assign(owns=1 - rows[0]["owns"])  # not the rows that were drawn from
        text = read(report(models, tmp_path / "c.html", other, rows[1], interactive=False))
        assert "only up to an excess loss of s" in words_of(text).split("Not in this report")[1]

    def test_drawn_trees_are_not_said_to_be_somebody_elses(self, curator_text: str) -> None:
        assert "independent draws from one distribution" in words_of(curator_text)
        assert "were not drawn here" not in words_of(curator_text)

    def test_the_set_keeps_its_plan_in_a_file(self, models: Any, tmp_path: Path) -> None:
        models.save(tmp_path / "a.npz")
        again: Any = CuratorSet.load(tmp_path / "a.npz")
        assert again.plan == models.plan and not again.uniform

    def test_trees_of_others_have_no_plan(self, rows: Any) -> None:
        X = (rows[0] > [40, 0]).astype(int)
        drawn = CountedTrees(X, rows[1], max_leaves=3).draw(5, 0.05, random_state=0)
        assert drawn.uniform and not hasattr(drawn, "plan")
        with pytest.raises(AttributeError, match="privately have a plan"):
            _ = drawn.plan


class TestUse:
    def test_counts_are_of_the_trees(self, models: Any) -> None:
        table = tree_use_table(models.release())
        texts = [models.text(draw) for draw in range(models.n_draws)]
        for words, row in table.iterrows():
            asking = [text for text in texts if f"{words}?" in text]
            assert row["trees"] == len(asking)
            assert row["first"] == sum(text.startswith(f"{words}?") for text in texts)
            assert row["low"] <= row["share"] <= row["high"]
        assert plot_tree_use(models.release()).layout.meta["view"] == "release"

    def test_chosen_trees_have_no_interval(self, models: Any) -> None:
        chosen = models.release()[:3]
        assert "low" not in tree_use_table(chosen)

    def test_trees_without_questions(self, models: Any) -> None:
        leaf = DecisionTrees((Leaf(1), Leaf(0)), 2, models.models.feature_names)
        bare = replace(models.release(), models=leaf)
        assert tree_use_table(bare).empty
        assert "No tree asks a question" in plot_tree_use(bare).layout.title.text


def test_every_kind_holds_what_none_before_it_does(models: Any) -> None:
    assert isinstance(model_kind(models), Trees)
    assert isinstance(model_kind(models.release()), Trees)
