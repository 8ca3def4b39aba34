"""A page of rows in blocks: sums over all of them, single people from a sample that says so."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer import streamed_table as whole
from rashomon_explorer.explorer.model_inputs import grouping_rule
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.measures import (
    exact_coefficient_ranges,
    fairness_audit,
    multiplicity_by_person_group,
)
from rashomon_explorer.measures.ranges import set_problem
from rashomon_explorer.privacy import Ledger
from tests.explorer.loans_in_blocks import (
    PEOPLE,
    SCHEMA,
    N,
    blocked,
    drawn,
    held_page,
    in_files,
    table,
)


@pytest.fixture(autouse=True)
def few_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "PEOPLE", PEOPLE)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Models drawn from a folder, with a ledger."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole, "PEOPLE", PEOPLE)
        explorer = Explorer(blocked(in_files(home / "loans", table())), home=home, schema=SCHEMA)
        drawn(explorer)
    return explorer


@pytest.fixture
def held(page: Any, tmp_path: Path) -> Explorer:
    """The same models on a page whose table is held."""
    explorer = held_page(tmp_path)
    explorer.session.show_set(page.rashomon_set, explorer.data)
    return explorer


def test_the_whole_table_is_charged_and_the_people_are_a_sample(page: Any) -> None:
    assert page.state.phase == "done", page.state.alert
    assert page.session.shape == (N, page.rows.shape[1])
    assert len(page.rows) == len(page.targets) == len(page.data.frame) == PEOPLE
    assert page.rashomon_set.plan.n == page.plan.n == N
    (entry,) = Ledger.open(page.session.home / "loans.ledger").entries()
    assert entry.state == "committed" and entry.parameters["n"] == N
    assert page.ledger.spent() == pytest.approx(6.0)
    assert "3,000 rows, 5 features, in chunks" in page.data_panel.about.value
    assert "fixed random sample of 400 of 3,000 people" in page.data_panel.about.value


def test_the_sample_is_the_same_whatever_stands_in_the_rows(page: Any, tmp_path: Path) -> None:
    other = table()
    other["age"], other["repaid"] = 18, "no"
    other.loc[0, "repaid"] = "yes"
    again = Explorer(blocked(in_files(tmp_path / "b", other)), home=tmp_path, schema=SCHEMA)
    places = page.data.whole.sampled.places
    np.testing.assert_array_equal(again.data.whole.sampled.places, places)
    assert len(np.unique(places)) == PEOPLE
    pd.testing.assert_frame_equal(
        page.data.frame, table().iloc[places].reset_index(drop=True), check_dtype=False
    )


def test_rows_are_encoded_as_those_that_are_held(page: Any, held: Explorer) -> None:
    blocks = list(page.chunks.chunks())
    np.testing.assert_array_equal(np.concatenate([rows for rows, _ in blocks]), held.rows)
    np.testing.assert_array_equal(np.concatenate([codes for _, codes in blocks]), held.targets)
    np.testing.assert_array_equal(page.session.all_targets, held.targets)
    assert list(page.chunks.source.names) == list(held.rows.columns)


def test_checksums_of_codes_and_of_labels_are_kept_apart(page: Any) -> None:
    for labels in (False, True):
        read = [targets for _, targets in page.data.whole.encoded(labels=labels).chunks()]
        assert (np.concatenate(read).dtype == np.int8) == (not labels)


def _audited(page: Any, name: str) -> Any:
    """The measure of a figure of groups, by region."""
    page.state.group_column = "region"
    return page.cards[name].next_call().found()


def test_what_is_exact_is_that_of_the_table_held(page: Any, held: Explorer) -> None:
    models = page.rashomon_set
    problem = set_problem(models, held.rows, held.targets)
    assert page.exact.problem.minimum.value == pytest.approx(problem.minimum.value, abs=1e-12)
    ranges = exact_coefficient_ranges(problem, models.psi)
    pd.testing.assert_frame_equal(page.exact.coefficient_ranges(), ranges, rtol=1e-6, atol=1e-6)
    regions = held.session.picked.everyone.groups("region")
    audit = fairness_audit(models, held.rows, held.targets, regions)
    found = _audited(page, "gaps")
    pd.testing.assert_frame_equal(found.table, audit.table, rtol=1e-12, atol=1e-12)
    bears = multiplicity_by_person_group(models, held.rows, regions)
    shown = _audited(page, "burden")
    pd.testing.assert_frame_equal(shown, bears.loc[shown.index], rtol=1e-12, atol=1e-12)
    page.state.page = held.state.page = "set"
    for explorer in (page, held):
        explorer.models_panel.refresh()
    np.testing.assert_array_equal(*(e.models_panel._measured[1] for e in (page, held)))
    assert page.models_panel._measured[2] == N


def test_the_curators_report_is_of_all_rows(page: Any) -> None:
    made = page.take_panel._curator_report()()
    text = made.content.decode() if hasattr(made, "content") else str(vars(made))
    assert "3,000" in text and "Groups by region" in text
    assert "this section shows a fixed random sample" not in text  # of 3,000 all are people


def test_the_python_lines_of_the_panels_are_of_blocks(page: Any) -> None:
    assert "chunk_rows('loans', target='repaid')" in "\n".join(page.data_panel.lines())
    assert "explorer.chunks, explorer.session.all_targets" in "\n".join(page.take_panel.lines())


def test_numbers_are_grouped_by_one_rule(page: Any, held: Explorer) -> None:
    ages = page.session.all_groups("age")
    rule = grouping_rule(page.data, "age")
    assert ages.tolist() == rule(held.data.frame["age"]).tolist()
    assert len(set(ages)) == 4


SUMS = {"gaps", "frontier", "exact_ranges", "ranges", "decomposition"}
"""Figures of all rows; the burden's is of all but for what is proved."""


def test_every_figure_of_single_people_says_whom_it_is_of(page: Any) -> None:
    read: set[str] = set()
    showing = [""]

    class Watched(Session):
        @property
        def rows(self) -> Any:
            read.add(showing[0])
            return self.__dict__["held"]

    session = page.session
    session.__dict__["held"] = session.__dict__.pop("rows")
    session.__class__ = Watched
    try:
        page.state.people, page.state.selection = (3,), (0, 1)
        said = set()
        for name in page.cards:
            showing[0] = name
            card = page.cards[name]
            card.redraw()
            if not card.lines:
                continue
            if "a fixed random sample of 400 of 3,000 people" in str(card.view.figure):
                said.add(name)
    finally:
        page.state.pick_nothing()
        session.__class__ = Session
        session.__dict__["rows"] = session.__dict__.pop("held")
    lined = {name for name in page.cards if page.cards[name].lines}
    assert (read & lined) - said <= SUMS
    expected = {"people", "person", "people_ranges", "importance", "profile", "pair", "burden"}
    assert expected <= said
    assert not said & SUMS


def test_what_is_exact_does_not_look_at_the_sample(page: Any, tmp_path: Path) -> None:
    """Control: with another sample the same sums are shown, and another importance."""
    again = Explorer(blocked(page.session.home / "loans"), home=tmp_path, schema=SCHEMA)
    again.session.show_set(page.rashomon_set, again.data)
    again.session.rows = again.rows.iloc[::-1].reset_index(drop=True) * 0.1
    ours, theirs = (e.exact.coefficient_ranges() for e in (page, again))
    pd.testing.assert_frame_equal(ours, theirs)
    tables = [_audited(one, "gaps").table for one in (page, again)]
    pd.testing.assert_frame_equal(*tables)
    ambiguity = [e.exact.people(np.arange(4))["best"].to_numpy() for e in (page, again)]
    assert not np.allclose(*ambiguity)
