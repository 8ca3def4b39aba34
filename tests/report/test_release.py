"""A release holds what was paid for and nothing else: by type, by bytes, and by looking for it."""

import inspect
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import Ledger, RashomonClassifier
from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.mechanisms.planning.options import plan_candidates
from rashomon_explorer.plots.text import number
from rashomon_explorer.privacy import adaptive_epsilon, approximate, pure, zcdp
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.release import ReleasedAggregates, release
from rashomon_explorer.report import curator_report, release_report, report
from rashomon_explorer.report.blocks import Plot, Table, plot_curves
from rashomon_explorer.report.editions import Page
from rashomon_explorer.report.material import Release
from rashomon_explorer.report.sections import RELEASE
from rashomon_explorer.report.sections.document import Section

from .conftest import figures_of, numbers_of, read, words_of

SENTINELS = {"loss": 0.73419258, "least": 0.61827364, "clipped": 0.41935827, "accepted": 0.27183946}


@pytest.fixture(scope="module")
def value(models: Any, rows: Any) -> ReleasedAggregates:
    asked = {"queries": ["ambiguity"], "epsilon": 0.5, "ledger": None}
    return release(models.release(), *rows[:2], **asked)


def with_sentinels(models: Any) -> Any:
    minimum = replace(models.minimum, value=SENTINELS["least"])
    return replace(
        models,
        losses=np.full(models.n_draws, SENTINELS["loss"]),
        minimum=minimum,
        clipped_share=SENTINELS["clipped"],
        acceptance=SENTINELS["accepted"],
    )


def traces_of(text: str, values: Any, least_digits: int = 4) -> list[float]:
    """Values that stand in a report in any form in which one is written."""
    written = set(re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", words_of(text)))
    shown = np.array([n for figure in figures_of(text) for n in numbers_of(figure)])
    found = []
    for value in map(abs, values):
        forms = {repr(value), *(number(value, digits) for digits in range(least_digits, 8))}
        if forms & written or np.any(np.abs(np.abs(shown) - value) <= 1e-6 * value):
            found.append(value)
    return found


def test_losses_and_minima_make_no_byte_of_difference(models: Any, tmp_path: Path) -> None:
    one = read(report(models.release(), tmp_path / "one.html"))
    other = replace(with_sentinels(models), mechanism="other", narrowed=0.0123)
    assert read(report(other.release(), tmp_path / "other.html")) == one


def test_they_make_a_difference_to_the_curator(models: Any, tmp_path: Path) -> None:
    one = read(report(models, tmp_path / "one.html"))
    assert read(report(with_sentinels(models), tmp_path / "other.html")) != one


def test_no_sentinel_is_in_a_release(models: Any, tmp_path: Path) -> None:
    text = read(report(with_sentinels(models).release(), tmp_path / "card.html"))
    assert traces_of(text, SENTINELS.values()) == []


def test_the_search_finds_sentinels_where_they_are(models: Any, tmp_path: Path) -> None:
    text = read(report(with_sentinels(models), tmp_path / "card.html"))
    assert {SENTINELS["loss"], SENTINELS["least"]} <= set(traces_of(text, SENTINELS.values()))


def test_no_number_of_the_rows_is_in_a_release(
    release_text: str, curator_text: str, rows: Any, models: Any
) -> None:
    X = rows[0].to_numpy()
    # With fewer digits, hundreds of numbers would meet by chance.
    private = [*X[:20].ravel().tolist(), *models.losses.tolist(), *models.best.tolist()]
    assert traces_of(release_text, private, 6) == []
    assert traces_of(curator_text, private, 6) != []


@pytest.mark.law
def test_both_editions_list_every_offer_of_the_planner(
    release_text: str, curator_text: str, models: Any
) -> None:
    for text in (release_text, curator_text):
        assert "Alternative mechanisms" in words_of(text)
        assert all(offer.summary in words_of(text) for offer in plan_candidates(models.plan))
        assert words_of(text).count(", this plan") == 1


def test_there_is_no_argument_for_rows() -> None:
    allowed = {"models", "aggregates", "constants", "domain", "ledger", "bounds", "target"}
    how = {"path", "title", "date", "interactive", "overwrite"}
    assert set(inspect.signature(release_report).parameters) == allowed | how
    assert {field.name for field in fields(Release)} == allowed | {"title", "date"}


def test_rows_are_refused(models: Any, rows: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="X"):
        report(models.release(), tmp_path / "card.html", X=rows[0])
    assert not list(tmp_path.iterdir())


def test_each_edition_refuses_the_other_type(models: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"call \.release\(\)"):
        release_report(models, tmp_path / "card.html")
    with pytest.raises(TypeError, match="release_report"):
        curator_report(models.release(), tmp_path / "card.html")


@pytest.mark.parametrize("given", [pd.DataFrame({"mean": [0.3]}), 0.3, "ambiguity"])
def test_an_aggregate_that_was_not_released_is_refused(
    models: Any, tmp_path: Path, given: Any
) -> None:
    with pytest.raises(TypeError, match=r"aggregates\[0\] must be a result of release\.release"):
        report(models.release(), tmp_path / "card.html", aggregates=[given])


def test_an_aggregate_nobody_paid_for_is_refused(
    models: Any, value: ReleasedAggregates, tmp_path: Path
) -> None:
    unpaid = replace(value, guarantee=no_guarantee("nobody paid"))
    with pytest.raises(CuratorOnlyError, match="nobody paid"):
        report(models.release(), tmp_path / "card.html", aggregates=[unpaid])


def test_aggregates_add_to_the_price(
    models: Any, value: ReleasedAggregates, tmp_path: Path
) -> None:
    path = report(models.release(), tmp_path / "c.html", aggregates=[value])
    text = words_of(read(path))
    total = adaptive_epsilon([models.guarantee, value.guarantee], models.plan.delta)
    assert f"together: ε = {rounded_up(total)}" in text
    assert number(value["ambiguity"].estimate, 4) in text and "comes on top" not in text


def test_a_total_that_is_not_proved_is_not_printed(
    models: Any, value: ReleasedAggregates, tmp_path: Path
) -> None:
    draws = replace(models, guarantee=approximate(1.0, models.plan.delta))
    other = replace(value, guarantee=zcdp(0.01))
    path = report(draws.release(), tmp_path / "c.html", aggregates=[other])
    text = words_of(read(path))
    assert "No finite ε is proved" in text and "together: ε" not in text


def test_constants_of_another_problem_are_refused(
    models: Any, fitted: Any, rows: Any, tmp_path: Path
) -> None:
    n_rows, width = rows[0].shape
    wrong = fitted.constants(n_rows + 1, width)
    with pytest.raises(ValueError, match="constants must match the draws"):
        report(models.release(), tmp_path / "c.html", constants=wrong, domain=Ball(fitted.radius))
    with pytest.raises(ValueError, match="belong together"):
        report(models.release(), tmp_path / "c.html", domain=Ball(fitted.radius))


def test_aggregates_of_other_draws_are_no_part_of_the_total(
    models: Any, value: ReleasedAggregates, tmp_path: Path
) -> None:
    other = replace(value, models=pure(7.0))
    path = report(models.release(), tmp_path / "c.html", aggregates=[other])
    assert "add the cost of those draws to the total" in words_of(read(path))


def test_a_curators_figure_cannot_get_into_a_release(models: Any) -> None:
    frame = pd.DataFrame({"ambiguity": [0.1, 0.2]}, index=[0.0, 0.1])
    figure = plot_curves(frame, 0.1, guaranteed=True)
    stray = Section("x", "X", "public", lambda given: [Plot(figure, "", Table(frame, ""))])
    with pytest.raises(AssertionError, match="curator figure"):
        Page("x", "release").write([*RELEASE[:1], stray], Release(models=models.release()))


def test_a_known_seed_is_said_and_never_told(rows: Any, tmp_path: Path) -> None:
    clf = RashomonClassifier(epsilon=5.0, n_draws=2, random_state=48151623).fit(*rows[:2])
    text = read(report(clf.rashomon_set_.release(), tmp_path / "card.html"))
    assert "reproducible, not private" in words_of(text)
    assert "48151623" not in text


def test_a_ledgers_names_and_remarks_stay_at_home(models: Any, rows: Any, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "x.ledger", epsilon=9.0, delta=1e-6)
    charge = ledger.reserve(pure(0.75), note="for the board’s eyes")
    charge.start()
    ledger.reserve(pure(0.5), note="a mistake").void("wrong file")
    public = read(report(models.release(), tmp_path / "r.html", ledger=ledger))
    for word in ("board’s eyes", "wrong file", "a mistake", ledger.entries()[0].who):
        assert word not in public
    assert "Budget: ε = 9" in public and ">0.75<" in public
    private = read(report(models, tmp_path / "c.html", ledger=tmp_path / "x.ledger"))
    assert "board’s eyes" in private
