"""A page of rows in blocks while they are read: bad and changed rows, Stop, other figures."""

import asyncio
import os
import tempfile
import threading
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import RashomonClassifier, cli
from rashomon_explorer.data import Numeric, TableSchema, YesNo
from rashomon_explorer.exceptions import DataError, RowsChangedError
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer import inputs as asked_table
from rashomon_explorer.explorer import streamed_table as whole
from rashomon_explorer.explorer.streamed_table import encoded, table_shape
from rashomon_explorer.explorer.table.editor import TableEditor
from rashomon_explorer.explorer.table.files import chunked_dataset
from rashomon_explorer.privacy import Ledger
from rashomon_explorer.release import release
from rashomon_explorer.rows import chunk_rows
from rashomon_explorer.rows.source import ArrayRows, RowSource
from rashomon_explorer.rows.workers import ThreadWorkers
from tests.explorer.loans_in_blocks import (
    BLOCK,
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


def test_a_bad_row_is_named_before_anything_is_charged(tmp_path: Path) -> None:
    frame = table()
    frame["repaid"] = frame["repaid"].astype(object)
    outside = np.setdiff1d(np.arange(N), sampled())[len(frame) // 2]
    frame.loc[outside, "repaid"] = "perhaps"
    explorer = Explorer(blocked(in_files(tmp_path / "loans", frame)), home=tmp_path, schema=SCHEMA)
    drawn(explorer)
    assert explorer.state.phase == "failed"
    file, group = f"part-{outside // 1_000}.parquet", f"row group {outside % 1_000 // 300}"
    for told in (file, group, f"row {outside} of all", "perhaps", "Nothing was charged"):
        assert told in explorer.state.alert.reason
    assert Ledger.open(tmp_path / "loans.ledger").entries() == []


def sampled() -> Any:
    return chunk_rows(np.zeros((N, 1)), np.zeros(N)).sample(PEOPLE).source.places


def test_who_changes_or_takes_away_files_is_told(tmp_path: Path) -> None:
    folder = in_files(tmp_path / "loans", table())
    explorer = Explorer(blocked(folder), home=tmp_path, schema=SCHEMA)
    drawn(explorer)
    explorer.cards["gaps"].redraw()
    other = table()
    other.loc[1_500, "age"] = 18 if other.loc[1_500, "age"] > 50 else 90
    in_files(folder, other)
    card = explorer.cards["frontier"]
    card.redraw()
    assert "have changed since" in str(card.view.figure).replace("<br>", " ")
    with pytest.raises(RowsChangedError, match=r"part-1\.parquet"):
        list(explorer.chunks.chunks())
    in_files(folder, table())
    (folder / "part-2.parquet").unlink()
    with pytest.raises(RowsChangedError, match=r"part-2\.parquet was readable .* restore it"):
        list(explorer.chunks.chunks())
    in_files(folder, table().iloc[: N - 100])
    with pytest.raises(RowsChangedError, match=r"had 100 rows in row group 3 .* and has 0"):
        list(explorer.chunks.chunks())


def test_without_a_declaration_one_is_proposed_and_nothing_is_charged(tmp_path: Path) -> None:
    explorer = Explorer(blocked(in_files(tmp_path / "loans", table())), home=tmp_path)
    assert explorer.data.bounds_learnt and "data-dependent" in explorer.state.uncharged
    panel = explorer.data_panel.schema
    panel._confirm()
    panel.load()
    assert not explorer.data.bounds_learnt and explorer.session.shape[0] == N
    drawn(explorer)
    assert explorer.state.phase == "done" and explorer.ledger.spent() == pytest.approx(6.0)


SOURCES = ("array", "mapped", "dask")


@pytest.mark.parametrize("kind", SOURCES)
def test_arrays_of_every_kind_are_taken(kind: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(900, 2))
    y = (X[:, 0] + rng.normal(0, 0.5, 900) > 0).astype(int)
    rows = {"array": chunk_rows, "mapped": mapped, "dask": of_dask}[kind](X, y)
    schema = TableSchema(
        [
            Numeric("x0", (-1, 1)),
            Numeric("x1", (-1, 1)),
            YesNo("target", (0, 1), role="target"),
        ]
    )
    data = chunked_dataset(replace(rows, rows=BLOCK), schema, "ours")
    assert data.name == "ours" and table_shape(data) == (900, 2)
    frame = pd.DataFrame(X, columns=["x0", "x1"]).assign(target=y)
    _, held = encoded(TableEditor("x", frame, schema).data())
    read = list(data.whole.encoded().chunks())
    np.testing.assert_array_equal(np.concatenate([rows for rows, _ in read]), held)
    np.testing.assert_array_equal(np.concatenate([codes for _, codes in read]), y)


def mapped(X: Any, y: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:  # a mapped file stays until it is let go
        np.save(f"{folder}/x.npy", X)
        return chunk_rows(np.load(f"{folder}/x.npy", mmap_mode="r"), y)


def of_dask(X: Any, y: Any) -> Any:
    da = pytest.importorskip("dask.array")
    return chunk_rows(da.from_array(X, chunks=(300, 2)), da.from_array(y, chunks=300))


def test_a_fitted_estimator_is_shown_with_its_rows_in_blocks(page: Any, tmp_path: Path) -> None:
    folder = page.session.home / "loans"
    settings = {"psi": 0.3, "n_draws": 4, "mechanism": "exact", "radius": 2.0, "epsilon": 6.0}
    clf = RashomonClassifier(**settings, schema=SCHEMA, random_state=0).fit(blocked(folder))
    explorer = Explorer(clf, data=blocked(folder), home=tmp_path)
    assert explorer.targets.tolist()[:3] == explorer.data.frame["repaid"].tolist()[:3]
    ranges = explorer.exact.coefficient_ranges()
    assert explorer.exact.problem.minimum.value == pytest.approx(
        clf.rashomon_set_.minimum.value, abs=1e-12
    )
    assert len(ranges) == clf.rashomon_set_.coef.shape[1]
    explorer.state.group_column = "region"
    assert len(explorer.cards["gaps"].next_call().found().table) > 0


@pytest.mark.law
def test_trees_are_counted_of_all_rows(tmp_path: Path) -> None:
    folder = in_files(tmp_path / "loans", table())
    ours = Explorer(blocked(folder), home=tmp_path, schema=SCHEMA)
    theirs = held_page(tmp_path / "held")
    for explorer in (ours, theirs):
        explorer.state.family, explorer.state.max_leaves = "trees", 3
        explorer.state.psi = 0.05
    pd.testing.assert_frame_equal(ours.tree_answers.sizes(), theirs.tree_answers.sizes())
    pd.testing.assert_frame_equal(ours.tree_answers.features(), theirs.tree_answers.features())
    pd.testing.assert_frame_equal(
        ours.tree_answers.parity("region"), theirs.tree_answers.parity("region")
    )
    flips = theirs.tree_answers.flips().iloc[ours.data.whole.sampled.places].reset_index(drop=True)
    pd.testing.assert_frame_equal(ours.tree_answers.flips().reset_index(drop=True), flips)
    ours.state.n_draws, ours.state.epsilon = 5, 4.0
    ours.draw()
    assert ours.state.phase == "done", ours.state.alert
    drawn_trees = ours.rashomon_set
    gaps = [e.tree_answers.drawn_gaps(drawn_trees, "region") for e in (ours, theirs)]
    pd.testing.assert_frame_equal(*gaps)
    assert len(gaps[0]) == 5


def test_one_model_is_made_of_all_rows(tmp_path: Path) -> None:
    explorer = Explorer(blocked(in_files(tmp_path / "l", table())), home=tmp_path, schema=SCHEMA)
    explorer.state.goal = "one"
    assert explorer.state.one_plan.n == N
    explorer.single.receive(explorer.single.order()())
    assert explorer.state.one_model is not None
    assert Ledger.open(tmp_path / "l.ledger").entries()[0].parameters["n"] == N


def test_what_needs_rows_that_are_held_says_what_to_do(page: Any) -> None:
    with pytest.raises(DataError, match=r"chunked rows.*save the bundle .*or release aggregates"):
        page.aggregates.basket(("ambiguity",), epsilon=0.5)
    sample = page.chunks.sample(100).to_memory()
    asked: dict[str, Any] = {"queries": ["ambiguity"], "epsilon": 1.0, "ledger": None}
    assert release(page.rashomon_set, *sample, **asked).n_rows == 100
    assert page.aggregates.contents().models.n_draws == page.rashomon_set.n_draws
    assert "DPBilevelSearch" in page.state.tuning.why_not
    with pytest.raises(TypeError, match="can be given only for chunked rows"):
        Explorer(data=page.data, schema=SCHEMA)
    with pytest.raises(TypeError, match="got rows without"):
        Explorer(chunk_rows(np.eye(3), labelled=False))
    with pytest.raises(TypeError, match="pass the raw rows"):
        Explorer(page.chunks.then(lambda rows, y: (rows, y)))


def test_sets_are_shown_again_and_rows_are_recognised(page: Any) -> None:
    home = page.session.home
    again = Explorer(blocked(home / "loans"), home=home, schema=SCHEMA)
    np.testing.assert_array_equal(again.rashomon_set.coef, page.rashomon_set.coef)
    assert again.exact.problem.minimum.value == pytest.approx(page.rashomon_set.least, abs=1e-12)
    assert again.state.same_rows == ""
    copy = Explorer(blocked(home / "loans"), home=home, schema=SCHEMA, name="copy")
    assert "charged to loans.ledger before" in copy.state.same_rows


def test_the_command_names_a_table_and_the_page_opens_it(
    page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.TABLE_VARIABLE == asked_table.TABLE_VARIABLE
    monkeypatch.setenv(cli.TABLE_VARIABLE, "")
    asked: list[str] = []
    serve = "rashomon_explorer.server.dashboard.serve"
    monkeypatch.setattr(serve, lambda _: asked.append(os.environ[cli.TABLE_VARIABLE]))
    folder, schema = page.session.home / "loans", tmp_path / "loans.toml"
    SCHEMA.save(schema)
    assert cli.main(["--data", str(folder), "--schema", str(schema), "--no-token"]) == 0
    assert len(asked) == 1
    explorer = Explorer(home=tmp_path)
    assert explorer.data.name == "loans" and explorer.session.shape[0] == N
    assert explorer.state.uncharged == ""
    for wrong, told in (
        (["--data", str(folder)], "no target column: set --target"),
        (["--data", str(folder), "--target", "paid"], "no column 'paid'"),
        (["--target", "repaid"], "add --data"),
    ):
        assert cli.main(wrong) == 1
        assert told in capsys.readouterr().err
    monkeypatch.setenv(cli.TABLE_VARIABLE, asked[0].replace("/loans", "/gone"))
    gone = Explorer(home=tmp_path)
    assert gone.data is None and "is neither a Parquet file" in gone.state.alert.reason


class Slow(ArrayRows):
    """Rows that wait in every pass, until they are told to go on."""

    def pieces(self, low: int, high: int) -> Any:
        yield from super().pieces(low, high)
        WAIT.started.set()
        assert WAIT.go.wait(20)


class WAIT:
    started, go = threading.Event(), threading.Event()


def of_frame(kind: type[ArrayRows]) -> Any:
    frame = table()
    source = kind(frame.drop(columns="repaid"), frame["repaid"])
    return replace(chunk_rows(np.eye(2), [0, 1]), source=source, rows=BLOCK)


def test_a_pass_over_blocks_holds_no_other_figure(page: Any, tmp_path: Path) -> None:
    WAIT.go.set()
    explorer = Explorer(of_frame(Slow), home=tmp_path, schema=SCHEMA)
    explorer.session.show_set(page.rashomon_set, explorer.data)
    WAIT.go.clear()
    WAIT.started.clear()

    async def look() -> None:
        explorer.state.page = "people"
        slow = explorer.cards["gaps"]
        slow.view._views = 1  # somebody looks
        slow.changed()
        while not WAIT.started.is_set():
            await asyncio.sleep(0.01)
        quick = explorer.cards["losses"]
        quick.view._views = 1
        before = quick.view.figure
        explorer.state.rashomon_set = page.rashomon_set[[0, 1, 2]]
        while quick.view.figure is before or not quick.lines:
            await asyncio.sleep(0.01)
        assert not slow.lines  # still at it
        WAIT.go.set()
        while not slow.lines:
            await asyncio.sleep(0.01)

    try:
        asyncio.run(asyncio.wait_for(look(), 30))
    finally:
        WAIT.go.set()


@pytest.mark.parametrize("passes", [0, 4])
def test_stop_ends_a_pass(passes: int, tmp_path: Path) -> None:
    """Before the charge nothing is spent; after it the price is, and both are said."""
    explorer: Any = None
    seen = [-1]  # the sample is read first

    class Stopping(ArrayRows):
        def pieces(self, low: int, high: int) -> Any:
            if explorer is not None and low == 0:
                seen[0] += 1
                if seen[0] == passes:
                    explorer.drawing.job.stop()
            return super().pieces(low, high)

    explorer = Explorer(of_frame(Stopping), home=tmp_path, schema=SCHEMA)
    seen[0] = -1
    drawn(explorer)
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
    shape, names, may_change, labelled = (24_000, 2), ("a", "b"), False, True

    def pieces(self, low: int, high: int) -> Any:
        for start in range(low, high, 400):
            rows = np.random.default_rng(start).uniform(-1, 1, (min(400, high - start), 2))
            with self.lock:
                Counted.held += len(rows)
                Counted.most = max(Counted.most, Counted.held)
            weakref.finalize(rows, self._gone, len(rows))
            yield rows, (rows[:, 0] > 0).astype(int)

    @classmethod
    def _gone(cls, count: int) -> None:
        cls.held -= count

    def select_column(self, column: str) -> Any:
        raise NotImplementedError


def test_the_page_never_holds_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rashomon_explorer.rows.chunked.CACHE_BYTES", 2**16)
    numbers = [Numeric(name, (-1, 1)) for name in ("a", "b")]
    schema = TableSchema([*numbers, YesNo("target", (0, 1), role="target")])
    rows = replace(chunk_rows(np.eye(2), [0, 1]), source=Counted(), rows=400)
    rows = replace(rows, workers=ThreadWorkers(2))
    explorer = Explorer(rows, home=tmp_path, schema=schema)
    explorer.state.psi, explorer.state.radius = 0.3, 1.0
    explorer.state.n_draws, explorer.state.mechanism = 1, "exact"
    explorer.draw()
    assert explorer.state.phase == "done", explorer.state.alert
    explorer.cards["gaps"].redraw()
    assert explorer.models_panel._measured[2] == 24_000
    assert 400 <= Counted.most <= 4_000  # a few blocks of each thread
