"""A page of chunked rows: sums over all of them, single people from a sample that says so."""

import os
import threading
import weakref
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from rashomon_explorer import RashomonClassifier, cli
from rashomon_explorer.data import Categorical, Numeric, TableSchema, YesNo
from rashomon_explorer.data.encoder import USUAL_NORM, encoded_rows
from rashomon_explorer.exceptions import DataError, RowsChangedError
from rashomon_explorer.explorer import Explorer, answers, table_rows
from rashomon_explorer.explorer.selection import group_labels
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.measures import exact_coefficient_ranges, fairness_audit
from rashomon_explorer.measures.ranges import set_problem
from rashomon_explorer.plots.text import percent
from rashomon_explorer.privacy import Ledger
from rashomon_explorer.release import release
from rashomon_explorer.rows import chunk_rows
from rashomon_explorer.rows.source import ArrayRows, RowSource
from rashomon_explorer.rows.workers import ThreadWorkers
from tests.explorer import pages
from tests.explorer.pages import BLOCK, FILE, GROUP, PEOPLE, SCHEMA, N, set_state

NUMBERS = [Numeric(name, (-1, 1)) for name in ("x0", "x1")]
SAMPLE = f"a fixed random sample of {PEOPLE} of {N} people"


@pytest.fixture(autouse=True, scope="module")
def few_people():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_rows, "PEOPLE", PEOPLE)
        yield


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Models drawn from a folder, with a ledger."""
    return pages.drawn(pages.chunked_page(tmp_path_factory.mktemp("home")))


@pytest.fixture(scope="module")
def held(page, tmp_path_factory):
    """The same models on a page whose table is held."""
    explorer = pages.held_page(tmp_path_factory.mktemp("held"))
    explorer.session.show_set(page.rashomon_set, explorer.data)
    return explorer


@pytest.mark.slow
def test_clipped_rows_are_counted_where_they_are_clipped(page, tmp_path):
    """The encoding clips them, so that the models see none that is too long."""
    held = pages.drawn(pages.held_page(tmp_path))
    features = table_rows.feature_schema(SCHEMA)
    rows = encoded_rows(features, pages.loans_table(), USUAL_NORM, quiet=True)
    share = (np.linalg.norm(rows, axis=1) > USUAL_NORM + 1e-9).mean()
    assert 0.05 < share < 0.95
    for one in (page, held):
        assert one.rashomon_set.clipped_share == pytest.approx(share, abs=1e-12)
        assert f"Clipped rows</abbr></dt><dd>{percent(share)}" in one.numbers_panel.facts.value
        stored = one.session.set_store.open(1)
        assert stored.clipped_share == one.rashomon_set.clipped_share


def test_the_whole_table_is_charged_and_the_people_are_a_sample(page):
    assert page.state.phase == "done", page.state.alert
    assert page.session.shape == (N, page.rows.shape[1])
    assert len(page.rows) == len(page.targets) == len(page.data.frame) == PEOPLE
    assert page.rashomon_set.plan.n == page.plan.n == N
    (entry,) = Ledger.open(page.session.home / "loans.ledger").entries()
    assert entry.state == "committed" and entry.parameters["n"] == N
    assert page.ledger.spent() == pytest.approx(6.0)
    assert SAMPLE.removeprefix("a ") in page.data_panel.about.value
    assert "chunk_rows('loans', target='repaid')" in "\n".join(page.data_panel.lines())


def test_the_sample_is_the_same_whatever_stands_in_the_rows(page, tmp_path):
    other = pages.loans_table()
    other["age"], other["repaid"] = 18, "no"
    other.loc[0, "repaid"] = "yes"
    places = page.data.chunked.sampled.positions
    again = pages.chunked_page(tmp_path, other).data.chunked.sampled
    np.testing.assert_array_equal(again.positions, places)
    assert len(np.unique(places)) == PEOPLE
    people = pages.loans_table().iloc[places].reset_index(drop=True)
    pd.testing.assert_frame_equal(page.data.frame, people, check_dtype=False)


def test_rows_targets_and_groups_are_encoded_as_those_that_are_held(page, held):
    chunks = list(page.chunks.chunks())
    np.testing.assert_array_equal(np.concatenate([rows for rows, _ in chunks]), held.rows)
    np.testing.assert_array_equal(np.concatenate([codes for _, codes in chunks]), held.targets)
    assert list(page.chunks.source.names) == list(held.rows.columns)
    for labels in (False, True):  # the checksums of codes and of labels are kept apart
        read = [targets for _, targets in page.data.chunked.encoded(labels=labels).chunks()]
        assert (np.concatenate(read).dtype == np.int8) == (not labels)


@pytest.mark.slow
def test_what_is_exact_is_that_of_the_table_held(page, held):
    models = page.rashomon_set
    problem = set_problem(models, held.rows, held.targets)
    assert page.exact.problem.minimum.value == pytest.approx(problem.minimum.value, abs=1e-12)
    ranges = exact_coefficient_ranges(problem, models.psi)
    pd.testing.assert_frame_equal(page.exact.coefficient_ranges(), ranges, rtol=1e-6, atol=1e-6)
    for explorer in (page, held):
        explorer.state.page = "set"
        explorer.models_panel.refresh()
    np.testing.assert_array_equal(*(one.models_panel._measured[1] for one in (page, held)))
    assert page.models_panel._measured[2] == N
    text = page.take_panel._curator_report()().content.decode()
    assert f"{N} rows" in text and "Groups by region" in text
    assert "this section shows a fixed random sample" not in text  # all are people


SUMS = {"map", "ranges"}
"""Figures of all rows."""


@pytest.mark.slow
def test_every_figure_of_rows_says_that_they_are_a_sample(page):
    page.state.group_column = "region"
    audit = page.cards["gaps"].next_call().found()
    regions = group_labels(page.data, "region")
    expected = fairness_audit(page.rashomon_set, page.rows, page.targets, regions)
    pd.testing.assert_frame_equal(audit.table, expected.table)
    read, current, said, lined = set(), [""], set(), set()

    class Watched(Session):
        @property
        def rows(self):
            read.add(current[0])
            return self.__dict__["held"]

    session = page.session
    session.__dict__["held"] = session.__dict__.pop("rows")
    session.__class__ = Watched
    try:
        set_state(page, people=(3,), selection=(0, 1))
        for name, card in page.cards.items():
            current[0] = name
            card.redraw()
            if card.lines:
                lined.add(name)
                said |= {name} if SAMPLE in str(card.view.figure) else set()
    finally:
        page.state.clear_selection()
        session.__class__ = Session
        session.__dict__["rows"] = session.__dict__.pop("held")
    assert (read & lined) - said <= SUMS
    groups = {"gaps", "frontier", "burden", "decomposition"}
    assert said >= {"people", "person", "people_ranges", "importance", "profile", "pair"} | groups
    assert not said & SUMS


def test_what_is_exact_does_not_look_at_the_sample(page, tmp_path):
    """Control: with another sample the same sums are shown, and another importance."""
    again = Explorer(pages.chunked(page.session.home / "loans"), home=tmp_path, schema=SCHEMA)
    again.session.show_set(page.rashomon_set, again.data)
    again.session.rows = again.rows.iloc[::-1].reset_index(drop=True) * 0.1
    both = (page, again)
    pd.testing.assert_frame_equal(*(one.exact.coefficient_ranges() for one in both))
    ambiguity = [one.exact.people(np.arange(4))["best"].to_numpy() for one in both]
    assert not np.allclose(*ambiguity)


def test_a_bad_row_is_named_before_anything_is_charged(page, tmp_path):
    frame = pages.loans_table()
    frame["repaid"] = frame["repaid"].astype(object)
    outside = np.setdiff1d(np.arange(N), page.data.chunked.sampled.positions)[N // 2]
    frame.loc[outside, "repaid"] = "perhaps"
    explorer = pages.drawn(pages.chunked_page(tmp_path, frame))
    assert explorer.state.phase == "failed"
    file, group = f"part-{outside // FILE}.parquet", f"row group {outside % FILE // GROUP}"
    for told in (file, group, f"row {outside} of all", "perhaps", "Nothing was charged"):
        assert told in explorer.state.alert.reason
    assert Ledger.open(tmp_path / "loans.ledger").entries() == []


@pytest.mark.slow
def test_who_changes_files_is_told(tmp_path):
    explorer, folder = pages.drawn(pages.chunked_page(tmp_path)), tmp_path / "loans"
    assert explorer.exact.problem.n == N
    other = pages.loans_table()
    other.loc[FILE + 50, "age"] = 18 if other.loc[FILE + 50, "age"] > 50 else 90
    pages.in_files(folder, other)
    explorer.exact.forget()
    card = explorer.cards["ranges"]
    card.redraw()
    assert "have changed since" in card._definition_html()
    with pytest.raises(RowsChangedError, match=r"part-1\.parquet"):
        list(explorer.chunks.chunks())


def test_without_a_declaration_one_is_proposed_and_nothing_is_charged(tmp_path):
    explorer = pages.chunked_page(tmp_path, schema=None)
    assert explorer.data.bounds_learnt and "data-dependent" in explorer.state.uncharged
    explorer.data_panel.schema._confirm()
    explorer.data_panel.schema.load()
    assert not explorer.data.bounds_learnt and explorer.session.shape[0] == N
    explorer.state.goal = "one"
    explorer.single.receive(explorer.single.order()())
    assert explorer.state.one_model is not None and explorer.state.one_plan.n == N
    assert explorer.ledger.entries()[0].parameters["n"] == N


@pytest.mark.law
def test_trees_are_counted_of_all_rows(tmp_path):
    both = (pages.chunked_page(tmp_path), pages.held_page(tmp_path / "held"))
    for explorer in both:
        set_state(explorer, family="trees", max_leaves=3, psi=0.05, n_draws=5, epsilon=4.0)
    both[0].draw()
    assert both[0].state.phase == "done", both[0].state.alert
    ours, theirs = (explorer.tree_answers for explorer in both)
    for find in (lambda trees: trees.sizes(), lambda trees: trees.features()):
        pd.testing.assert_frame_equal(find(ours), find(theirs))
    flips = theirs.flips().iloc[both[0].data.chunked.sampled.positions].reset_index(drop=True)
    pd.testing.assert_frame_equal(ours.flips().reset_index(drop=True), flips)
    assert len(ours.drawn_gaps(both[0].rashomon_set, "region")) == 5
    front = ours.parity("region")  # of the sample
    assert front["beyond"].iloc[0] == 0 and (front["gap"].diff().iloc[1:] < 0).all()


def test_what_needs_rows_that_are_held_says_what_to_do(page):
    with pytest.raises(DataError, match=r"chunked rows.*save the bundle .*or release aggregates"):
        page.aggregates.basket(("ambiguity",), epsilon=0.5)
    asked = {"queries": ["ambiguity"], "epsilon": 1.0, "ledger": None}
    assert release(page.rashomon_set, *page.chunks.sample(100).to_memory(), **asked).n_rows == 100
    assert page.aggregates.contents().models.n_draws == page.rashomon_set.n_draws
    for given, options, words in (
        (page.data, {"schema": SCHEMA}, "can be given only for chunked rows"),
        (chunk_rows(np.eye(3), labelled=False), {}, "got rows without"),
        (page.chunks.then(lambda rows, y: (rows, y)), {}, "pass the raw rows"),
    ):
        with pytest.raises(TypeError, match=words):
            Explorer(given, **options)


@pytest.mark.slow
def test_sets_and_estimators_are_shown_again_and_rows_are_recognised(page):
    home, least = page.session.home, page.rashomon_set.least
    rows = pages.chunked(home / "loans")
    again = Explorer(rows, home=home, schema=SCHEMA)
    np.testing.assert_array_equal(again.rashomon_set.coef, page.rashomon_set.coef)
    assert again.exact.problem.minimum.value == pytest.approx(least, abs=1e-12)
    assert again.state.same_rows == ""
    copy = Explorer(rows, home=home, schema=SCHEMA, name="copy")
    assert "charged to loans.ledger before" in copy.state.same_rows
    settings = {"psi": 0.3, "n_draws": 4, "mechanism": "exact", "radius": 2.0, "epsilon": 6.0}
    clf = RashomonClassifier(**settings, schema=SCHEMA, random_state=0).fit(rows)
    fitted = Explorer(clf, data=rows, home=home)
    assert fitted.targets.tolist()[:3] == fitted.data.frame["repaid"].tolist()[:3]
    least = clf.rashomon_set_.minimum.value
    assert fitted.exact.problem.minimum.value == pytest.approx(least, abs=1e-12)


def test_the_command_names_a_table_and_the_page_opens_it(page, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(cli.TABLE_VARIABLE, "")
    asked = []
    serve = "rashomon_explorer.server.dashboard.serve"
    monkeypatch.setattr(serve, lambda _: asked.append(os.environ[cli.TABLE_VARIABLE]))
    folder, schema = page.session.home / "loans", tmp_path / "loans.toml"
    SCHEMA.save(schema)
    assert cli.main(["--data", str(folder), "--schema", str(schema), "--no-token"]) == 0
    explorer = Explorer(home=tmp_path)
    assert explorer.data.name == "loans" and explorer.session.shape[0] == N
    assert explorer.state.uncharged == ""
    assert cli.main(["--data", str(folder), "--target", "paid"]) == 1
    assert "no column 'paid'" in capsys.readouterr().err
    monkeypatch.setenv(cli.TABLE_VARIABLE, asked[0].replace("/loans", "/gone"))
    gone = Explorer(home=tmp_path)
    assert gone.data is None and "is neither a Parquet file" in gone.state.alert.reason


@pytest.mark.parametrize("with_schema", [True, False])
def test_the_command_names_a_csv_file_and_the_page_opens_it(
    with_schema, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv(cli.TABLE_VARIABLE, "")
    monkeypatch.setattr("rashomon_explorer.server.dashboard.serve", lambda _: None)
    path, schema = tmp_path / "mine.csv", tmp_path / "mine.toml"
    table = pages.loans_table()
    table.to_csv(path, sep=";", index=False)
    SCHEMA.save(schema)
    more = ["--schema", str(schema)] if with_schema else ["--target", "repaid"]
    assert cli.main(["--data", str(path), *more, "--no-token"]) == 0
    explorer = Explorer(home=tmp_path)
    assert explorer.data.name == "mine" and explorer.session.shape[0] == len(table)
    assert bool(explorer.data.bounds_learnt) != with_schema  # a proposed one must be confirmed
    assert cli.main(["--data", str(tmp_path / "gone.csv"), *more, "--no-token"]) == 1
    assert "there is no file" in capsys.readouterr().err


def _of_arrays(kind):
    frame = pages.loans_table()
    source = kind(frame.drop(columns="repaid"), frame["repaid"])
    return replace(chunk_rows(np.eye(2), [0, 1]), source=source, rows=BLOCK)


@pytest.mark.parametrize("passes", [0, 3])
def test_stop_ends_a_pass(passes, tmp_path):
    """Before the charge nothing is spent; after it the price is, and both are said."""
    explorer: Any = None
    seen = [-1]  # the sample is read first

    class Stopping(ArrayRows):
        def pieces(self, low, high):
            if explorer is not None and low == 0:
                seen[0] += 1
                if seen[0] == passes:
                    explorer.drawing.job.stop()
            return super().pieces(low, high)

    explorer = Explorer(_of_arrays(Stopping), home=tmp_path, schema=SCHEMA)
    seen[0] = -1
    pages.drawn(explorer)
    assert explorer.state.phase == "stopped", explorer.state.alert
    entries = Ledger.open(tmp_path / "table.ledger").entries()
    if not passes:  # one thread for each branch at most was at a block
        assert explorer.drawing.job.rows_read <= 4 * BLOCK
    told = "whole privacy cost stays spent" if entries else "Stopped before anything was charged"
    assert told in explorer.state.message
    assert [entry.state for entry in entries] == (["started"] if passes else [])


class Counted(RowSource):
    """Rows that are made when they are asked for, and how many of them are held at once."""

    held = most = 0
    lock = threading.Lock()
    shape, names, may_change, labelled = (24_000, 2), ("x0", "x1"), False, True

    def pieces(self, low, high):
        for start in range(low, high, 400):
            rows = np.random.default_rng(start).uniform(-1, 1, (min(400, high - start), 2))
            with self.lock:
                Counted.held += len(rows)
                Counted.most = max(Counted.most, Counted.held)
            weakref.finalize(rows, self._gone, len(rows))
            yield rows, (rows[:, 0] > 0).astype(int)

    @classmethod
    def _gone(cls, count):
        cls.held -= count

    def select_column(self, column):
        raise NotImplementedError


@pytest.mark.law
def test_the_page_never_holds_the_table(tmp_path, monkeypatch):
    monkeypatch.setattr("rashomon_explorer.rows.chunked.CACHE_BYTES", 2**16)
    schema = TableSchema([*NUMBERS, YesNo("target", (0, 1), role="target")])
    rows = replace(chunk_rows(np.eye(2), [0, 1]), source=Counted(), rows=400)
    explorer = Explorer(replace(rows, workers=ThreadWorkers(2)), home=tmp_path, schema=schema)
    set_state(explorer, psi=0.3, radius=1.0, n_draws=1, mechanism="exact")
    explorer.draw()
    assert explorer.state.phase == "done", explorer.state.alert
    assert explorer.models_panel._measured[2] == 24_000
    assert 400 <= Counted.most <= 4_000  # a few blocks of each thread


CODED = TableSchema([Categorical("sort", ["a", "b", "c"], role="target")])
ROWS = np.zeros((4, 1))


def test_labels_are_coded_by_their_class_or_as_one_against_the_others():
    labels = np.array(["b", "a", "c", "b"], dtype=object)
    for options, codes in (
        ({}, [1, 0, 2, 1]),
        ({"positive_label": "b"}, [1, 0, 0, 1]),
        ({"labels": True}, ["b", "a", "c", "b"]),
    ):
        rows, targets = table_rows.TargetCoding(CODED, None, **options)(ROWS, labels)
        assert rows is ROWS and targets.tolist() == codes


def test_numbers_are_clipped_to_their_bounds_and_checked():
    coded = table_rows.TargetCoding(CODED, (0.0, 2.0))
    assert coded(ROWS, [-1.0, 0.5, 2.0, 7.0])[1].tolist() == [0.0, 0.5, 2.0, 2.0]
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(DataError, match="NaN or infinity"):
            coded(ROWS, [0.0, bad, 1.0, 1.0])


def test_a_value_at_an_edge_is_in_the_group_up_to_it_and_a_missing_one_in_its_own():
    grouping = table_rows.Grouping(edges=(1.0, 2.0, 3.0))
    values = pd.Series([0.0, 1.0, 2.0, 2.5, 3.0, 4.0, np.nan])
    expected = ["up to 1", "up to 1", "1 to 2", "2 to 3", "2 to 3", "over 3", "no value"]
    assert grouping(values).tolist() == expected
    assert set(expected) <= set(grouping.names)


def test_a_tree_that_flips_a_person_is_found_by_the_row_of_the_table(monkeypatch):
    monkeypatch.setattr(
        answers.trees, "best_tree_predicting", lambda counted, place, code: (place, code)
    )
    page = SimpleNamespace(state=SimpleNamespace(data=Bunch(X=range(3))), counted=None)
    page.flips = lambda: pd.DataFrame({"code": [4, 5, 6]})
    page._as_predictor_set = lambda tree: tree
    assert answers.TreeAnswers.flipping(page, 1) == (1, 5)
    page.state.data["chunked"] = SimpleNamespace(positions=[70, 80, 90])
    assert answers.TreeAnswers.flipping(page, 1) == (80, 5)
