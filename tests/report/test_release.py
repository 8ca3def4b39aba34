"""A release holds what was charged and nothing else: by type, by bytes, and by looking for it."""

import inspect
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import Ledger, RashomonClassifier
from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.plots.text import number
from rashomon_explorer.privacy import adaptive_epsilon, approximate, pure, zcdp
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.release import release
from rashomon_explorer.report import blocks, curator_report, release_report, report
from rashomon_explorer.report.blocks import Plot, Table, plot_curves
from rashomon_explorer.report.editions import Document
from rashomon_explorer.report.material import Release
from rashomon_explorer.report.sections import RELEASE
from rashomon_explorer.report.sections.document import Section
from rashomon_explorer.sets.models.trees import DecisionTrees, Leaf

from .conftest import read, traces_of, words_of

LOSS, LEAST, CLIPPED, ACCEPTED = SENTINELS = (0.73419258, 0.61827364, 0.41935827, 0.27183946)


def _linear_changed(models):
    return replace(
        models,
        losses=np.full(models.n_draws, LOSS),
        minimum=replace(models.minimum, value=LEAST),
        clipped_share=CLIPPED,
        acceptance=ACCEPTED,
        mechanism="other",
        narrowed=0.0123,
    )


def _trees_changed(models):
    leaf = DecisionTrees((Leaf(1),), 2, models.models.feature_names)
    return replace(models, losses=np.full(models.n_draws, LOSS), least=LEAST, reference=leaf)


@pytest.fixture(scope="module", params=["linear", "trees"])
def case(request, tmp_path_factory):
    """Draws, the same draws of another table behind them, and the reports of both editions."""
    models = request.getfixturevalue("models" if request.param == "linear" else "tree_models")
    other = (_linear_changed if request.param == "linear" else _trees_changed)(models)
    folder = tmp_path_factory.mktemp("reports")

    def text(models):
        return read(report(models, folder / "card.html", overwrite=True))

    return SimpleNamespace(
        models=models,
        rows=request.getfixturevalue("rows" if request.param == "linear" else "tree_rows"),
        other=other,
        public=(text(models.release()), text(other.release())),
        private=(text(models), text(other)),
    )


def test_what_only_rows_tell_makes_no_byte_of_difference(case, tmp_path):
    assert case.public[0] == case.public[1]
    assert case.private[0] != case.private[1]
    assert traces_of(case.public[1], SENTINELS) == []
    assert {LOSS, LEAST} <= set(traces_of(case.private[1], SENTINELS))  # the search finds them
    case.models.release().save(tmp_path / "models.npz")
    again = type(case.models.release()).load(tmp_path / "models.npz")
    assert again.plan == case.models.plan
    assert read(report(again, tmp_path / "again.html")) == case.public[0]


def test_no_number_of_the_rows_is_in_a_release(
    release_text, curator_text, tree_release, tree_curator, case
):
    linear = "coef" in vars(case.models)
    texts = (release_text, curator_text) if linear else (tree_release, tree_curator)
    private = [*case.models.losses.tolist(), *(case.models.best.tolist() if linear else ())]
    private += case.rows[0].to_numpy()[:20].ravel().tolist() if linear else [case.models.least]
    # With fewer digits, hundreds of numbers would meet by chance.
    assert traces_of(texts[0], private, 6) == [] != traces_of(texts[1], private, 6)
    if not linear:  # ages have few digits
        assert traces_of(texts[0], case.rows[0]["age"], 9) == []


def test_types_do_not_mix(case, tmp_path):
    path, released = tmp_path / "card.html", case.models.release()
    with pytest.raises(TypeError, match=r"call \.release\(\)"):
        release_report(case.models, path)
    with pytest.raises(TypeError, match="goes to release_report"):
        curator_report(released, path)
    with pytest.raises(TypeError, match="unexpected keyword"):
        report(released, path, X=case.rows[0])
    for value in (pd.DataFrame({"mean": [0.3]}), 0.3, "ambiguity"):
        with pytest.raises(TypeError, match=r"aggregates\[0\] must be a result of release"):
            report(released, path, aggregates=[value])
    with pytest.raises(CuratorOnlyError):
        case.models.inside().release()
    assert not list(tmp_path.iterdir())


def test_there_is_no_argument_for_rows():
    allowed = {"models", "aggregates", "constants", "domain", "ledger", "bounds", "target"}
    named = {"title", "date", "table", "author", "schema"}
    how = {"path", "classes", "interactive", "overwrite", *named}
    assert set(inspect.signature(release_report).parameters) == allowed | how
    assert {field.name for field in fields(Release)} == allowed | named


@pytest.fixture(scope="module")
def value(models, rows):
    settings = {"queries": ["ambiguity", "psi_sign"], "epsilon": 0.5, "ledger": None}
    return release(models.release(), *rows[:2], **settings)


def test_aggregates_add_to_the_cost_or_are_refused(
    models, rows, value, tree_models, tree_rows, tmp_path
):
    def words(models, *aggregates):
        path = tmp_path / "c.html"
        options = {"interactive": False, "overwrite": True}
        return words_of(read(report(models.release(), path, aggregates=aggregates, **options)))

    total = adaptive_epsilon([models.guarantee, value.guarantee], models.plan.delta)
    text = words(models, value)
    assert f"together: ε = {rounded_up(total)}" in text
    assert number(value["ambiguity"].estimate, 4) in text
    assert all(one.note in text for one in value if "sign" in one.name)
    assert "add the cost of those draws to the total" not in text
    bars = release(models.release(), *rows[:2], queries=["coefficients"], rho=1.0, ledger=None)
    text = words(models, bars, replace(value, models=pure(7.0)))
    assert all(one.note in text for one in bars)
    assert "add the cost of those draws to the total" in text
    # A total that is not proved is not printed.
    spent = replace(models, guarantee=approximate(1.0, models.plan.delta))
    text = words(spent, replace(value, guarantee=zcdp(0.01)))
    assert "No finite ε is proved" in text and "together: ε" not in text
    with pytest.raises(CuratorOnlyError, match="nobody paid"):
        words(models, replace(value, guarantee=no_guarantee("nobody paid")))
    settings = {"queries": ["mean_accuracy"], "epsilon": 0.5, "ledger": None}
    text = words(tree_models, release(tree_models, *tree_rows, **settings))
    assert "Draws and aggregates together: ε = " in text


def test_constants_of_another_problem_are_refused(models, tree_models, fitted, rows, tmp_path):
    n_rows, width = rows[0].shape
    ball, wrong = Ball(fitted.radius), fitted.constants(n_rows + 1, width)
    for released, options, message in (
        (models, {"constants": wrong, "domain": ball}, "constants must match the draws"),
        (models, {"domain": ball}, "belong together"),
        (tree_models, {"constants": wrong, "domain": ball}, "linear models: omit them"),
    ):
        with pytest.raises(ValueError, match=message):
            report(released.release(), tmp_path / "c.html", **options)


def test_a_curators_figure_cannot_get_into_a_release(models):
    frame = pd.DataFrame({"ambiguity": [0.1, 0.2]}, index=[0.0, 0.1])
    figure = plot_curves(frame, 0.1, guaranteed=True)
    stray = Section("x", "X", "public", lambda material: [Plot(figure, "", Table(frame, ""))])
    with pytest.raises(AssertionError, match="losses is a curator figure"):
        blocks.figure(Release(models=models.release()), "losses")
    with pytest.raises(AssertionError, match="curator figure"):
        sections = [*RELEASE[:1], stray]
        Document("x", "release", sections, Release(models=models.release())).html()


def test_a_known_seed_is_said_and_never_told(rows, tmp_path):
    clf = RashomonClassifier(epsilon=5.0, n_draws=2, random_state=48151623).fit(*rows[:2])
    path = report(clf.rashomon_set_.release(), tmp_path / "card.html", interactive=False)
    assert "reproducible, not private" in words_of(read(path))
    assert "48151623" not in read(path)


def test_a_ledgers_names_and_remarks_are_not_released(models, tmp_path):
    ledger = Ledger.create(tmp_path / "x.ledger", epsilon=9.0, delta=1e-6)
    ledger.reserve(pure(0.75), note="for the board’s eyes").start()
    ledger.reserve(pure(0.5), note="a mistake").void("wrong file")
    options = {"ledger": tmp_path / "x.ledger", "interactive": False}
    public = read(report(models.release(), tmp_path / "r.html", **options))
    for word in ("board’s eyes", "wrong file", "a mistake", ledger.entries()[0].who):
        assert word not in public
    assert "spent, of ε = 9" in public and public.count(">0.75<") == 1  # what is void is not listed
    assert "board’s eyes" in read(report(models, tmp_path / "c.html", **options))
