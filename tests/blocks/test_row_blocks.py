"""Sums over blocks have the same digits whatever the rows are in and whoever adds them."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer.blocks import RowBlocks, row_blocks
from rashomon_explorer.blocks.kept import kept
from rashomon_explorer.blocks.seen import Seen
from rashomon_explorer.blocks.steps import AsNumbers
from rashomon_explorer.blocks.tree import Tree, branches
from rashomon_explorer.blocks.workers import Jobs, Threads
from rashomon_explorer.exceptions import DataError, RowsChangedError

N, D, BLOCK = 1_037, 3, 64
RNG = np.random.default_rng(7)
X = RNG.normal(size=(N, D)) * 10.0 ** RNG.integers(-6, 7, size=(N, 1))
Y = RNG.normal(size=N)


def _sums(rows: Any, targets: Any) -> tuple[Any, ...]:
    return rows.T @ rows, rows.T @ targets


def small(table: RowBlocks, **changes: Any) -> RowBlocks:
    return replace(table, rows=BLOCK, **changes)


def _bits(table: RowBlocks) -> list[bytes]:
    return [total.tobytes() for total in table.reduce(_sums)]


def in_parquet(folder: Path, group: int = 100) -> Path:
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame(X, columns=list("abc")).assign(label=Y)
    for number, low in enumerate(range(0, N, 400)):
        part = pa.Table.from_pandas(frame.iloc[low : low + 400], preserve_index=False)
        pq.write_table(part, folder / f"part-{number}.parquet", row_group_size=group)
    return folder


def mapped(folder: Path) -> RowBlocks:
    held = np.lib.format.open_memmap(folder / "x.npy", mode="w+", dtype=float, shape=X.shape)
    held[:] = X
    held.flush()
    return row_blocks(np.load(folder / "x.npy", mmap_mode="r"), Y)


def of_dask_array(folder: Path) -> RowBlocks:
    da = pytest.importorskip("dask.array")
    return row_blocks(da.from_array(X, chunks=(101, 2)), da.from_array(Y, chunks=101))


def of_dask_frame(folder: Path) -> RowBlocks:
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")).assign(label=Y), npartitions=7)
    return row_blocks(frame, target="label")


SOURCES: dict[str, Callable[[Path], RowBlocks]] = {
    "a column-major array": lambda folder: row_blocks(np.asfortranarray(X), Y),
    "a DataFrame": lambda folder: row_blocks(pd.DataFrame(X), pd.Series(Y)),
    "a mapped file": mapped,
    "Parquet": lambda folder: row_blocks(in_parquet(folder), target="label"),
    "a Dask array": of_dask_array,
    "a Dask DataFrame": of_dask_frame,
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_the_digits_of_an_array(name: str, tmp_path: Path) -> None:
    table = small(SOURCES[name](tmp_path))
    assert table.source.shape == (N, D)
    assert _bits(table) == _bits(small(row_blocks(X, Y)))


@pytest.mark.parametrize("workers", [Threads(1), Threads(2), Threads(8)])
def test_one_worker_and_eight_give_the_same_digits(workers: Any) -> None:
    assert _bits(small(row_blocks(X, Y), workers=workers)) == _bits(small(row_blocks(X, Y)))


@pytest.mark.law
def test_other_processes_give_the_same_digits(tmp_path: Path) -> None:
    with ProcessPoolExecutor(2) as pool:
        table = row_blocks(in_parquet(tmp_path), target="label", executor=pool)
        assert _bits(small(table)) == _bits(small(row_blocks(X, Y)))
    assert _bits(small(row_blocks(X, Y, n_jobs=2))) == _bits(small(row_blocks(X, Y)))


def test_adding_blocks_up_by_worker_gives_other_digits() -> None:
    """Negative control: without the fixed tree the number of workers shows."""
    blocks = [_sums(rows, targets)[0] for rows, targets in small(row_blocks(X, Y)).blocks()]
    sums = {
        np.sum([np.sum(blocks[low::count], axis=0) for low in range(count)], axis=0).tobytes()
        for count in (1, 2, 8)
    }
    assert len(sums) > 1


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_branches_make_the_tree_that_parts_make(workers: int) -> None:
    join = partial("({}{})".format)
    for count in range(1, 70):
        plain, cut = Tree(join), Tree(join)
        for part in range(count):
            plain.push(0, f"{part} ")
        for low, high in branches(count, workers):
            branch = Tree(join)
            for part in range(low, high):
                branch.push(0, f"{part} ")
            for level, value in branch.nodes():
                cut.push(level, value)
        assert cut.total() == plain.total()
    with pytest.raises(ValueError, match="no part"):
        Tree(join).total()


def test_kept_blocks_are_those_that_were_made() -> None:
    table = small(row_blocks(X, Y)).then(AsNumbers())
    for room in (0, 5_000, 10**9):
        held = kept(table, room)
        assert _bits(held) == _bits(table)
    assert len(kept(table, 5_000).source.first) == 2  # type: ignore[attr-defined]
    assert kept(replace(table, workers=Jobs(2))).source is table.source


def test_a_bad_row_of_a_late_block_is_named_by_file_row_group_and_row(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = in_parquet(tmp_path)
    frame = pd.DataFrame(X[800:], columns=list("abc")).assign(label=Y[800:])
    frame.loc[150, "b"] = np.nan
    whole = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(whole, folder / "part-2.parquet", row_group_size=100)
    table = small(row_blocks(folder, target="label")).then(AsNumbers())
    with pytest.raises(DataError, match=r"part-2.parquet, row group 1, row 50 of it \(row 950"):
        table.reduce(_sums)


def test_a_source_that_changes_between_passes_is_noticed(tmp_path: Path) -> None:
    table = small(mapped(tmp_path)).looked_at()
    before = _bits(table)
    held = np.load(tmp_path / "x.npy", mmap_mode="r+")
    was = held[700, 1]
    held[700, 1] = np.nextafter(was, 0)  # the last digit of one cell
    held.flush()
    with pytest.raises(RowsChangedError, match="row 640 on"):
        _bits(table)
    held[700, 1] = was
    held.flush()
    assert _bits(table) == before


def test_a_version_tells_tables_and_orders_apart() -> None:
    def version(table: RowBlocks) -> bytes:
        seen = small(table).looked_at().seen
        assert isinstance(seen, Seen)
        return seen.version

    swapped = X.copy()
    swapped[[3, 4]] = X[[4, 3]]
    found = {
        version(row_blocks(rows, Y)) for rows in (X, swapped, X[:-1].repeat(1, axis=0)[:N])[:2]
    }
    assert len(found) == 2
    assert version(row_blocks(X, Y)) == version(row_blocks(np.asfortranarray(X), Y)) in found


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"X": X}, "targets must be given once"),
        ({"X": X, "y": Y, "target": "label"}, "targets must be given once"),
        ({"X": X, "y": Y[:-1]}, "one target a row"),
        ({"X": X[0], "y": Y}, "a table with rows and columns"),
        ({"X": "nowhere.parquet", "target": "label"}, "no Parquet file and no folder"),
        ({"X": X, "y": Y, "n_jobs": 2, "executor": object()}, "not both"),
        ({"X": X, "y": Y, "executor": object()}, "got object"),
    ],
)
def test_what_is_no_table_is_refused_in_words(asked: dict[str, Any], message: str) -> None:
    with pytest.raises((DataError, TypeError), match=message):
        row_blocks(**asked)


def test_parquet_files_must_agree_and_have_the_columns(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    folder = in_parquet(tmp_path)
    with pytest.raises(DataError, match="no column 'income'"):
        row_blocks(folder, target="label", columns=["income"])
    pd.DataFrame({"a": ["text"], "label": [1.0]}).to_parquet(folder / "part-9.parquet")
    with pytest.raises(DataError, match=r"part-9\.parquet has other columns"):
        row_blocks(folder, target="label")


def test_pages_of_a_mapped_file_are_let_go_and_nothing_is_lost(tmp_path: Path) -> None:
    rows = 400_000
    held = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=float, shape=(rows, 4))
    held[:] = np.arange(rows)[:, None]
    shifted = np.load(tmp_path / "x.npy", mmap_mode="r")[1:]
    for array in (held, shifted, np.load(tmp_path / "x.npy", mmap_mode="c")):
        table = row_blocks(array, labelled=False)
        sums = [table.reduce(_column_sums)[0].tolist() for _ in range(2)]
        assert sums[0] == sums[1] == [rows * (rows - 1) / 2] * 4
    private = np.load(tmp_path / "x.npy", mmap_mode="c")
    private[0] = 7.0  # a copy on write is nobody's to let go
    row_blocks(private, labelled=False).reduce(_column_sums)
    assert private[0].tolist() == [7.0] * 4


def _column_sums(rows: Any, targets: Any) -> tuple[Any, ...]:
    return (rows.sum(axis=0),)


def test_no_more_is_kept_ready_than_a_quarter_of_what_is_left(monkeypatch: Any) -> None:
    monkeypatch.setattr("rashomon_explorer.blocks.kept.room", lambda: 4.0 * 4_000)
    ready = kept(small(row_blocks(X, Y)))
    held = sum(rows.nbytes + targets.nbytes for rows, targets in ready.source.first)
    assert 2_000 < held <= 4_000
    assert _bits(ready) == _bits(small(row_blocks(X, Y)))


@pytest.mark.law
def test_a_bad_cell_in_the_nine_thousandth_block_is_named(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": np.ones(160_000), "label": 1.0})
    frame.loc[9_000 * 16 + 5, "a"] = np.nan
    for number, low in enumerate(range(0, len(frame), 50_000)):
        part = frame.iloc[low : low + 50_000]
        part.to_parquet(tmp_path / f"part-{number}.parquet", row_group_size=10_000)
    table = replace(row_blocks(tmp_path, target="label").then(AsNumbers()), rows=16)
    with pytest.raises(DataError, match=r"part-2.parquet, row group 4, row 4005 of it"):
        table.reduce(_sums)
