"""Sums over blocks have the same digits whatever the rows are in and whoever adds them."""

import os
import pickle
import time
from copy import copy
from dataclasses import replace
from functools import partial
from threading import Barrier, Lock

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.utils import parallel

from rashomon_explorer import DPClassifier, RashomonClassifier
from rashomon_explorer._utils import memory_limits
from rashomon_explorer.exceptions import DataError, RowsChangedError
from rashomon_explorer.rows import ChunkedRows, chunk_rows
from rashomon_explorer.rows import dask as dask_rows
from rashomon_explorer.rows.chunked import TransformedRows, keep_chunks, read_column, transformed
from rashomon_explorer.rows.dask import DaskRows, known_lengths
from rashomon_explorer.rows.reduction import read_chunks
from rashomon_explorer.rows.source import ArrayRows, read_mapped
from rashomon_explorer.rows.steps import NumericStep
from rashomon_explorer.rows.workers import ThreadWorkers, resolve_workers
from tests.sums import counted

N, D, BLOCK = 1_037, 3, 64
RNG = np.random.default_rng(7)
X = RNG.normal(size=(N, D)) * 10.0 ** RNG.integers(-6, 7, size=(N, 1))
Y = RNG.normal(size=N)
FRAME = pd.DataFrame(X, columns=list("abc")).assign(label=Y)


def _sums(rows, targets):
    return rows.T @ rows, rows.T @ targets


def small(table, **changes):
    return replace(table, rows=BLOCK, **changes)


def _bits(table):
    return [total.tobytes() for total in table.reduce(_sums)]


def in_parquet(folder, rows=400):
    pytest.importorskip("pyarrow")
    for number, low in enumerate(range(0, N, rows)):
        part = FRAME.iloc[low : low + rows]
        part.to_parquet(folder / f"part-{number}.parquet", index=False, row_group_size=100)
    return folder


def mapped(folder):
    held = np.lib.format.open_memmap(folder / "x.npy", mode="w+", dtype=float, shape=X.shape)
    held[:] = X
    held.flush()
    return chunk_rows(np.load(folder / "x.npy", mmap_mode="r"), Y)


def of_dask_array(folder):
    da = pytest.importorskip("dask.array")
    return chunk_rows(da.from_array(X, chunks=(101, 2)), da.from_array(Y, chunks=101))


def of_dask_frame(folder):
    dd = pytest.importorskip("dask.dataframe")
    return chunk_rows(dd.from_pandas(FRAME, npartitions=7), target="label")


def of_arrow(folder):
    return chunk_rows(pytest.importorskip("pyarrow").Table.from_pandas(FRAME), target="label")


def of_arrow_dataset(folder):
    dataset = pytest.importorskip("pyarrow.dataset")
    return chunk_rows(dataset.dataset(in_parquet(folder), format="parquet"), target="label")


def at_an_address(folder):
    memory = pytest.importorskip("fsspec").filesystem("memory")
    memory.put(str(in_parquet(folder)), f"/{folder.name}", recursive=True)
    table = chunk_rows(f"memory://{folder.name}", target="label")
    pattern = f"memory://{folder.name}/part-*.parquet"
    assert chunk_rows(pattern, target="label").source.opened == table.source.opened
    return table


SOURCES = {
    "a column-major array": lambda folder: chunk_rows(np.asfortranarray(X), Y),
    "a DataFrame": lambda folder: chunk_rows(pd.DataFrame(X), pd.Series(Y)),
    "a mapped file": mapped,
    "Parquet": lambda folder: chunk_rows(in_parquet(folder), target="label"),
    "an Arrow table": of_arrow,
    "an Arrow dataset": of_arrow_dataset,
    "an object store": at_an_address,
    "a Dask array": of_dask_array,
    "a Dask DataFrame": of_dask_frame,
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_the_digits_of_an_array_and_parts_that_hold_their_own_rows(
    name, tmp_path
):
    table = small(SOURCES[name](tmp_path))
    assert table.source.shape == (N, D)
    assert _bits(table) == _bits(small(chunk_rows(X, Y)))
    _check_parts(table)
    if name == "a column-major array":  # what views do with a source is the same for all
        encoded = transformed(_checked(table.then(NumericStep())), "abc")
        _check_parts(table.with_targets(group=np.arange(N)))
        for view in (table.sample(400), table.raw(encoded), table.raw(encoded).sample(400)):
            _check_parts(view)


def _checked(table):
    return table.with_checksums() if table.source.may_change else table


def _check_parts(table):
    """Parts to be sent elsewhere have the rows of the table, and hardly any other."""
    whole = _checked(table)
    parts = [part.with_own_rows() for part in whole.parts(ThreadWorkers(4))]
    assert len(parts) >= 7
    assert sum(part.source.shape[0] for part in parts) <= 3 * N  # whole row groups
    found = [rows for part in parts for _, rows, _ in read_chunks(part, whole._settings)]
    for one, (other, _) in zip(found, whole.chunks(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.law
def test_other_processes_give_the_same_digits(tmp_path):
    for given in ({"X": in_parquet(tmp_path), "target": "label"}, {"X": X, "y": Y}):
        assert _bits(small(chunk_rows(**given, n_jobs=2))) == _bits(small(chunk_rows(X, Y)))


def test_one_worker_and_eight_give_the_same_digits():
    """Negative control: without the fixed tree the number of workers shows."""
    for count in (1, 2, 3, 5, 8):
        found = _bits(small(chunk_rows(X, Y), workers=ThreadWorkers(count)))
        assert found == _bits(small(chunk_rows(X, Y)))
    blocks = [_sums(rows, targets)[0] for rows, targets in small(chunk_rows(X, Y)).chunks()]
    sums = {
        np.sum([np.sum(blocks[low::count], axis=0) for low in range(count)], axis=0).tobytes()
        for count in (1, 2, 8)
    }
    assert len(sums) > 1


def _kept(table, most=None):
    """Table of 3 columns after a step, with chunks kept, and its number of rows."""
    return keep_chunks(table, NumericStep(), counted, D, most)


def test_kept_blocks_are_those_that_were_made(monkeypatch):
    monkeypatch.setattr(
        "rashomon_explorer._utils.memory_limits.available_memory", lambda: 4.0 * 4_200
    )
    table = small(chunk_rows(X, Y))
    for room in (0, 5_000, 10**9, None):  # None: a quarter of what is left
        held, (n,) = _kept(table, room)
        assert _bits(held) == _bits(table) and n == N
        assert room is None or len(held.source.cache) == {0: 0, 5_000: 2}.get(room, 17)
    assert 2_000 < sum(part.nbytes for pair in held.source.cache for part in pair) <= 4_200
    elsewhere, (n,) = _kept(replace(table, workers=resolve_workers(n_jobs=1)))
    assert elsewhere.source is table.source and n == N
    monkeypatch.setattr(memory_limits, "available_memory", lambda: np.inf)
    for free, kept in ((0, 2**29), (2**33, 2**30)):
        monkeypatch.setattr(memory_limits, "free_memory", lambda free=free: free)
        assert memory_limits.cache_bytes() == kept


def test_a_function_that_writes_to_a_chunk_leaves_the_callers_rows():
    own = X.copy()
    for table in (chunk_rows(own, Y), chunk_rows(own, Y).then(NumericStep())):
        for size in (N, 64):
            replace(table, rows=size).reduce(lambda rows, _: (rows.fill(0.0),), lambda *_: ())
    np.testing.assert_array_equal(own, X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("estimator", "mechanism"),
    [
        *((RashomonClassifier, name) for name in ("exact", "langevin", "ellipsoid")),
        *((DPClassifier, name) for name in ("auto", "last_iterate", "output_perturbation")),
    ],
)
def test_a_fit_takes_at_most_the_passes_of_its_plan_and_reads_rows_once(
    estimator, mechanism, monkeypatch
):
    sources, run = [], ChunkedRows.run
    monkeypatch.setattr(
        ChunkedRows, "run", lambda *given: sources.append(type(given[0].source)) or run(*given)
    )
    rows = np.random.default_rng(0).normal(size=(600, 3)) * 0.2
    asked = {"classes": [0, 1], "epsilon": 2.0, "random_state": 0, "mechanism": mechanism}
    model = estimator(**asked).fit(chunk_rows(rows, np.where(rows[:, 0] > 0, 1, 0)))
    assert len(sources) <= model.plan_.passes
    assert 1 <= sum(source is not TransformedRows for source in sources) <= 2


def test_a_job_is_sent_its_part_of_the_rows(monkeypatch):
    """And each row once a pass."""
    sent, delayed = [], parallel.delayed

    def posted(task):
        return lambda *given: sent.append(len(pickle.dumps(given))) or delayed(task)(*given)

    monkeypatch.setattr(parallel, "delayed", posted)
    encoded = transformed(small(chunk_rows(X, Y)).then(NumericStep()), "abc")
    for source in (ArrayRows(X, Y), encoded):
        sent.clear()
        with parallel_config("threading"):
            table = ChunkedRows(source, workers=resolve_workers(n_jobs=2))
            assert small(table).reduce(counted) == (N,)
        assert len(sent) > 4 and sum(sent) < 1.3 * (X.nbytes + Y.nbytes)


def test_a_bad_row_of_a_late_block_is_named_by_file_row_group_and_row(tmp_path):
    folder, frame = in_parquet(tmp_path), FRAME[800:].reset_index(drop=True)
    frame.loc[150, "b"] = np.nan
    frame.to_parquet(folder / "part-2.parquet", index=False, row_group_size=100)
    table = small(chunk_rows(folder, target="label")).then(NumericStep())
    with pytest.raises(DataError, match=r"part-2.parquet, row group 1, row 50 of it \(row 950"):
        table.reduce(_sums)


def test_a_source_that_changes_between_passes_is_noticed(tmp_path):
    table = small(mapped(tmp_path)).with_checksums()
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


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"X": X}, "give targets once"),
        ({"X": X, "y": Y, "target": "label"}, "give targets once"),
        ({"X": X, "y": Y[:-1]}, "one target per row"),
        ({"X": X[0], "y": Y}, "a table with rows and columns"),
        ({"X": "nowhere.parquet", "target": "label"}, "neither a Parquet file nor a folder"),
        ({"X": X, "y": Y, "n_jobs": 2, "executor": object()}, "not both"),
        ({"X": X, "y": Y, "executor": object()}, "got object"),
    ],
)
def test_what_is_no_table_is_refused_in_words(asked, message):
    with pytest.raises((DataError, TypeError), match=message):
        chunk_rows(**asked).n  # noqa: B018 (files are opened at the first use)


def _column_sums(rows, targets):
    return (rows.sum(axis=0),)


def _write(folder, *names):
    """Files of one row each, whose only value is their number."""
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        frame = pd.DataFrame({"a": [float(number)], "label": [1.0]})
        frame.to_parquet(folder / name, index=False)


def test_files_that_a_failed_job_has_left_are_no_rows(tmp_path):
    dataset = pytest.importorskip("pyarrow.dataset")
    _write(
        tmp_path,
        "part-0.parquet",
        "_temporary/0/part-1.parquet",
        ".staging/part-2.parquet",
        "_part-3.parquet",
        ".part-4.parquet",
        "more/part-5.parquet",
        "more/_temporary/part-6.parquet",
    )
    found = chunk_rows(tmp_path, target="label").to_memory()[0]["a"].tolist()
    read = dataset.dataset(tmp_path, format="parquet").to_table()["a"].to_pylist()
    assert sorted(found) == sorted(read) == [0.0, 5.0]
    _write(tmp_path / "spark" / "2024.parquet", "part-0.snappy.parquet", "_temporary/p.parquet")
    for paths, values in (("**", {0.0, 5.0}), ("spark/*.parquet", {0.0}), ("m*/*", {5.0})):
        some = chunk_rows(str(tmp_path / paths), target="label").to_memory()[0]["a"]
        assert set(some) == values
    filtered = dataset.dataset(tmp_path, format="parquet").filter(dataset.field("a") > 0)
    with pytest.raises(DataError, match="without a filter"):
        chunk_rows(filtered, target="label").n  # noqa: B018
    _write(tmp_path / "failed", "_part-0.parquet")
    with pytest.raises(DataError, match=r"1 begin with _ or . and are skipped"):
        chunk_rows(tmp_path / "failed", target="label").n  # noqa: B018
    with pytest.raises(DataError, match="no column 'income'"):
        chunk_rows(tmp_path, target="label", columns=["income"]).n  # noqa: B018
    pd.DataFrame({"a": ["text"], "label": [1.0]}).to_parquet(tmp_path / "part-9.parquet")
    with pytest.raises(DataError, match=r"part-9\.parquet has other columns"):
        chunk_rows(tmp_path, target="label").n  # noqa: B018


def test_a_pattern_and_a_list_read_the_rows_of_the_folder(tmp_path):
    """With the values of its key=value folders, and without the row labels of pandas."""
    for home, frame in (("own", FRAME[:50]), ("rent", FRAME[50:90])):
        (tmp_path / f"home={home}").mkdir()
        labelled = frame.take(np.roll(np.arange(len(frame)), 1))
        labelled.to_parquet(tmp_path / f"home={home}" / "part.parquet")
    files = [tmp_path / f"home={home}" / "part.parquet" for home in ("own", "rent")]
    whole = chunk_rows(tmp_path, target="label").source.opened
    assert whole.columns == (*FRAME.columns.drop("label"), "home")
    for paths in (files, [str(file) for file in files], tmp_path / "*" / "*.parquet"):
        assert chunk_rows(paths, target="label").source.opened == whole
    backwards = chunk_rows(files[::-1], target="label").source.opened
    assert [group.values for group in backwards.groups] == [("rent",), ("own",)]
    with pytest.raises(DataError, match="twice, which would double its records"):
        chunk_rows([files[0], files[0]], target="label").n  # noqa: B018
    with pytest.raises(DataError, match=r"none.parquet is neither a Parquet file nor a folder"):
        chunk_rows([files[0], tmp_path / "none.parquet"], target="label").n  # noqa: B018


@pytest.mark.parametrize(
    "names",
    [
        ("r=EU/p.parquet", "r=US/p.parquet"),
        ("m=01/p.parquet", "m=12/p.parquet", "m=-3/p.parquet"),
        ("m=+1/p.parquet", "m=3000000000/p.parquet"),
        ("m=1/p.parquet", "m=-3000000000/p.parquet"),
        ("m=1/r=a%20b/p.parquet", "m=2/r=__HIVE_DEFAULT_PARTITION__/p.parquet"),
        ("m=__HIVE_DEFAULT_PARTITION__/p.parquet", "m=2/p.parquet", "m=2/_old/p.parquet"),
    ],
)
def test_folders_give_the_columns_that_pyarrow_gives(names, tmp_path):
    dataset = pytest.importorskip("pyarrow.dataset")
    _write(tmp_path, *names)
    read = dataset.dataset(tmp_path, format="parquet", partitioning="hive").to_table().to_pandas()
    want = read.drop(columns="label").sort_values("a", ignore_index=True)
    table = chunk_rows(tmp_path, target="label")
    assert list(table.source.names or ()) == list(want)
    rows = table.to_memory()[0].sort_values("a", ignore_index=True)
    pd.testing.assert_frame_equal(rows, want, check_dtype=False)
    for name in want:
        assert set(read_column(table, name).dropna()) == set(want[name].dropna())


def test_folders_that_say_two_things_are_refused_in_words(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    for number, (names, message) in enumerate(
        (
            (("m=1/p.parquet", "q=1/p.parquet"), "the same key=value folders"),
            (("m=1/p.parquet", "p.parquet"), "the same key=value folders"),
            (("m=1/m=2/p.parquet",), "two folders of column 'm'"),
            (("a=5/p.parquet",), "Field a has incompatible types"),
        )
    ):
        _write(tmp_path / str(number), *names)
        with pytest.raises(DataError, match=message):
            chunk_rows(tmp_path / str(number), target="label").n  # noqa: B018
    (tmp_path / "same" / "r=EU").mkdir(parents=True)
    twice = pytest.importorskip("pyarrow").table({"r": ["EU"], "label": [1.0]})
    parquet.write_table(twice, tmp_path / "same" / "r=EU" / "p.parquet")
    with pytest.raises(DataError, match="has a column 'r', which its folder name contains too"):
        chunk_rows(tmp_path / "same", target="label").n  # noqa: B018
    _write(tmp_path / "text", "r=EU/p.parquet", "r=US/p.parquet")
    rows = chunk_rows(tmp_path / "text", target="label")
    with pytest.raises(DataError, match="r holds text, from folder names: declare it"):
        DPClassifier(classes=[0, 1]).fit(rows)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The inplace keyword")  # in Dask's own calls of pandas
def test_a_dask_frame_of_parquet_gives_x_and_y_in_the_same_partitions(tmp_path):
    """Dask's optimiser joins other files for one column than for many."""
    dd = pytest.importorskip("dask.dataframe")
    lazy = dd.read_parquet(in_parquet(tmp_path, rows=130))
    want = _bits(small(chunk_rows(X, Y)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "rashomon_explorer.rows.dask.count_partitions", lambda data: pytest.fail("counted")
        )
        for table in (
            chunk_rows(lazy, target="label"),
            chunk_rows(lazy[["a", "b", "c"]], lazy["label"]),
        ):
            assert table.is_counted and _bits(small(table)) == want
    filtered = lazy[lazy.a < np.inf]
    for table in (
        chunk_rows(filtered[["a", "b", "c"]], filtered["label"]),
        chunk_rows(filtered, target="label", lengths=True),
    ):
        assert _bits(small(table)) == want


def test_lengths_that_work_on_partitions_can_change_are_not_known():
    """Dask states lengths of a choice of partitions in its own order, and of the first of a sum."""
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame({"a": np.arange(10.0)}), npartitions=3)
    # First, for Dask remembers the lengths of all partitions.
    assert known_lengths(frame.partitions[[2, 0]].optimize(fuse=False)) is None
    assert known_lengths(frame) == known_lengths(frame + 1) == (4, 3, 3)
    longer = frame.a + frame.a.map_partitions(lambda part: pd.concat([part, part + 100]))
    assert len(longer.partitions[0].compute()) == 8 and known_lengths(longer) is None


def _of_length(number, lengths):
    return pd.DataFrame({"a": np.ones(lengths[number]), "label": np.ones(lengths[number])})


def test_a_dask_partition_that_changes_its_length_between_passes_is_noticed():
    """Also where another partition makes up for it, and no checksum was taken."""
    dd = pytest.importorskip("dask.dataframe")
    made = partial(_of_length, lengths=[5, 5])
    frame = dd.from_map(made, [0, 1], meta=pd.DataFrame({"a": [0.0], "label": [0.0]})[:0])
    table = chunk_rows(frame, target="label", lengths=[5, 5])
    assert isinstance(table.source, DaskRows)
    assert [len(rows) for rows, _ in table.source.pieces(0, 10)] == [5, 5]
    changed = chunk_rows(
        dd.from_map(partial(_of_length, lengths=[6, 4]), [0, 1], meta=frame._meta),
        target="label",
        lengths=[5, 5],
    )
    for low, high, number in ((0, 10, 0), (0, 5, 0), (5, 10, 1)):
        with pytest.raises(RowsChangedError, match=f"partition {number} has"):
            list(changed.source.pieces(low, high))
    more = DaskRows(frame[["a"]], frame["label"], (5,))
    with pytest.raises(DataError, match="there are 2 partitions, expected 1"):
        list(more.pieces(0, 5))
    with pytest.raises(DataError, match="same number of partitions"):
        chunk_rows(frame, target="label", lengths=[10])


def test_a_mapped_array_is_what_was_mapped(tmp_path):
    """Cells of its own are read and stay, and no file that took the name of the mapped one."""
    path, X = tmp_path / "x.npy", np.arange(4_000.0).reshape(1_000, 4)
    np.save(path, X)
    own = np.load(path, mmap_mode="c")
    own[0] = -1.0
    for _ in range(2):  # pages that are let go are read again
        assert chunk_rows(own, labelled=False).reduce(_column_sums)[0][0] == X[1:, 0].sum() - 1.0
    assert np.array_equal(read_mapped(own), own) and read_mapped(own)[0, 0] == -1.0
    held = np.load(path, mmap_mode="r")
    rows = copy(ArrayRows(held))  # to be sent: read now, and written by its type alone into errors
    assert type(rows.X) is np.ndarray and np.array_equal(rows.X, X)
    assert repr(chunk_rows(X, X[:, 0])).startswith("ChunkedRows(source=ArrayRows(...), steps=()")
    np.save(tmp_path / "other.npy", np.zeros((10, 4)))
    os.replace(tmp_path / "other.npy", path)
    for _ in range(2):
        sums = chunk_rows(held[::-1, 1:3], labelled=False).reduce(_column_sums)[0]
        assert np.array_equal(sums, X[:, 1:3].sum(axis=0))


_BOTH = Barrier(2)


def _meeting(part):
    if len(part):
        _BOTH.wait(timeout=60)
    return part


def test_dask_plans_in_one_thread_at_a_time_and_computes_in_several(monkeypatch):
    """With Python 3.11 two threads that optimise DataFrames may wait for each other for ever."""
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame({"a": np.ones(8), "label": np.ones(8)}), npartitions=2)
    frame = frame.map_partitions(_meeting, meta=frame._meta)
    table = replace(
        chunk_rows(frame, target="label", lengths=[4, 4]), rows=2, workers=ThreadWorkers(2)
    )
    partition, planning = dask_rows._partition, Lock()

    def planned_alone(data, place):
        assert planning.acquire(blocking=False)
        try:
            time.sleep(0.01)
            return partition(data, place)
        finally:
            planning.release()

    monkeypatch.setattr(dask_rows, "_partition", planned_alone)
    assert table.reduce(_column_sums)[0].tolist() == [8.0]
