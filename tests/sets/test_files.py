"""A set comes back from its file to the last bit, and a release's file holds no secret."""

import json
import math
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from rashomon_explorer import sets
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.mechanisms.langevin.plan import plan_path
from rashomon_explorer.privacy import bounded_range
from tests.sets.made import make, rewrite_header

STUMP = {"feature": 0, "true": {"prediction": 1}, "false": {"prediction": 0}}
PATH_PLAN = plan_path(
    50, 3, 0.1, radius=2.0, row_norm=1.5, epsilon=1.0, delta=1e-6, n_draws=4, max_steps=10
)
SETS = {
    "plain": make(),
    "words": make(feature_names=("Größe", "年齢", "intercept"), classes=("non", "oui ✓")),
    "no draws": make(coef=np.empty((0, 3)), losses=np.empty(0)),
    "path": make(plan=PATH_PLAN, guarantee=PATH_PLAN.guarantee, acceptance=math.nan),
    "odd numbers": make(
        coef=np.array([[1 / 3, -0.0, 5e-324]] * 4), losses=np.array([0.1 + 0.2, 1e308, 2.0, 3.0])
    ),
    "chosen": make().inside(0.07),
    "softmax": make(coef=np.ones((4, 6)), link="softmax", classes=(0, 1, 5)),
}


@pytest.mark.parametrize("name", SETS)
def test_linear_draws_come_back_exactly(name, tmp_path):
    models, path = SETS[name], tmp_path / "ein Satz ψ.npz"
    models.save(path)
    twin = sets.RashomonSet.load(path)
    assert type(twin) is sets.RashomonSet
    for field in models.__dataclass_fields__:
        one, other = getattr(models, field), getattr(twin, field)
        if field == "minimum":
            assert np.array_equal(one.theta, other.theta)
            one, other = replace(one, theta=None), replace(other, theta=None)
        if isinstance(one, np.ndarray):
            assert one.tobytes() == other.tobytes()
            assert not other.flags.writeable
        else:
            assert one == other or (one != one and other != other), field


def test_a_releases_file_holds_nothing_that_only_the_curator_knows(tmp_path):
    losses = np.array([0.4512345678, 0.5, 0.512345, 0.8])
    models = make(losses=losses, clipped_share=0.123456789, acceptance=0.987654321)
    models.save(tmp_path / "set.npz")
    models.release().save(tmp_path / "release.npz")
    known = contents(tmp_path / "release.npz")
    assert set(known) == {"coef.npy", "header.npy"}
    assert set(header(tmp_path / "release.npz")) == {
        *("format", "version", "kind", "feature_names", "link", "row_norm", "target_bounds"),
        *("classes", "plan", "guarantee", "steps", "feature_groups"),
    }
    assert header(tmp_path / "release.npz")["plan"]["request"]["row_norm"] == models.plan.row_bound
    secrets = [losses.tobytes(), losses[:1].tobytes(), models.best.tobytes()]
    secrets += [str(value).encode() for value in (0.4512345678, 0.123456789, 0.987654321)]
    raw = (tmp_path / "release.npz").read_bytes()
    assert not [secret for secret in secrets if secret in raw]
    curators = (tmp_path / "set.npz").read_bytes()  # the search finds what is there
    assert [secret in curators for secret in secrets] == [True, True, True, False, True, True]


def test_curators_and_released_files_are_apart(tmp_path):
    models = make(guarantee=bounded_range(0.1).with_seed())
    models.save(tmp_path / "set.npz")
    models.release().save(tmp_path / "release.npz")
    public = sets.ReleasedSet.load(tmp_path / "release.npz")
    assert public.guarantee == models.guarantee and public.guarantee.seeded
    assert np.array_equal(public.scores([[1.0, 2.0]]), models.scores([[1.0, 2.0]]))
    assert (tmp_path / "set.npz").stat().st_mode & 0o077 == 0
    assert (tmp_path / "release.npz").stat().st_mode & 0o044 == 0o044
    with pytest.raises(DataError, match=r"holds a ReleasedSet: read it with ReleasedSet.load"):
        sets.RashomonSet.load(tmp_path / "release.npz")
    with pytest.raises(DataError, match=r"holds a RashomonSet: read it with RashomonSet.load"):
        sets.ReleasedSet.load(tmp_path / "set.npz")


def test_predictions_and_trees_come_back(tmp_path):
    chances = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], size=(4, 6))
    rows = np.arange(12.0).reshape(6, 2)
    stored = sets.from_predictions(
        chances, list("abcabc"), X=rows, names=["α", "β", "γ", "δ"], psi=0.7
    )
    trees = sets.from_treefarms([STUMP, {"prediction": 1}], losses=[0.1, 0.3])
    unknown = sets.from_predictions([[0.1, 0.9]])
    for models, given in ((stored, rows), (trees, [[0], [1]]), (unknown, None)):
        models.save(tmp_path / "set.npz", overwrite=True)
        twin = sets.RashomonSet.load(tmp_path / "set.npz")
        assert isinstance(twin, sets.PredictorSet)
        assert np.array_equal(twin.scores(given), models.scores(given))
        assert np.array_equal(twin.best_scores(given), models.best_scores(given))
        assert np.array_equal(twin.losses, models.losses, equal_nan=True)
        for field in ("psi", "task", "classes", "names", "loss", "guarantee", "steps"):
            assert getattr(twin, field) == getattr(models, field)


def test_fitted_models_are_not_written_but_what_they_predict_is(tmp_path):
    rows, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    models = sets.from_estimators([LogisticRegression().fit(rows, y)], rows, y)
    with pytest.raises(TypeError, match=r"only by pickle, which runs code .* stored\(X\).save"):
        models.save(tmp_path / "set.npz")
    assert not list(tmp_path.iterdir())
    models.stored(rows).save(tmp_path / "set.npz")
    again = sets.RashomonSet.load(tmp_path / "set.npz")
    assert np.array_equal(again.scores(rows), models.scores(rows))


def test_a_file_is_not_replaced_unasked_and_a_failure_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "set.npz"
    make().save(path)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        make().save(path)
    make(mechanism="hit_and_run").save(path, overwrite=True)
    before = path.read_bytes()
    with pytest.raises(TypeError, match="cannot be written to JSON"):
        make(classes=((0, 1), (1, 0))).save(path, overwrite=True)

    def fail(file, **arrays):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        make().save(path, overwrite=True)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, r"newer version .*\(file version 2, this one reads up to 1"),
        ({"format": "something"}, "is a 'something', expected a 'rashomon-explorer set'"),
        ({"kind": "forest"}, "holds 'forest', expected one of"),
        ({"version": "two"}, "no readable header"),
        ({"link": "probit"}, "is damaged: ValueError"),
        ({"feature_names": ["one"]}, "is damaged"),
        ({"plan": {}}, "is damaged: KeyError"),
    ],
)
def test_a_damaged_file_is_refused(change, message, tmp_path):
    make().save(tmp_path / "set.npz")
    rewrite_header(tmp_path / "set.npz", **change)
    with pytest.raises(DataError, match=message):
        sets.RashomonSet.load(tmp_path / "set.npz")


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other.npz"
    path.write_bytes(b"coef,losses\n1,2\n")
    with pytest.raises(DataError, match="not an npz archive"):
        sets.RashomonSet.load(path)
    np.savez(path, coef=np.ones(3))
    with pytest.raises(DataError, match="no readable header"):
        sets.RashomonSet.load(path)
    np.savez(path, header=np.array([{"code": "runs"}], dtype=object))  # a pickle
    with pytest.raises(DataError, match="damaged"):
        sets.RashomonSet.load(path)
    with pytest.raises(FileNotFoundError):
        sets.RashomonSet.load(tmp_path / "none.npz")


@pytest.fixture
def path(tmp_path):
    make().release().save(tmp_path / "release.npz")
    return tmp_path / "release.npz"


def test_a_small_file_that_would_fill_the_memory_is_refused_unread(path, monkeypatch):
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez_compressed(path, **{**arrays, "coef": np.zeros((400_000, 3))})
    assert path.stat().st_size < 40_000
    with monkeypatch.context() as unread:
        unread.setattr(np, "load", lambda *_, **__: pytest.fail("it was read"))
        with pytest.raises(DataError, match="compressed or expands beyond its own size"):
            sets.ReleasedSet.load(path)
    monkeypatch.setattr(sets.files, "_expands", lambda _: False)  # the control
    assert sets.ReleasedSet.load(path).n_draws == 400_000


def test_entries_that_share_their_bytes_are_refused(path):
    raw = path.read_bytes()
    start = raw.index(b"PK\x01\x02")  # the table of contents, whose lines are said five times
    end = raw.rindex(b"PK\x05\x06")
    table, many = raw[start:end], 200
    tail = bytearray(raw[end:])
    count = int.from_bytes(tail[8:10], "little") * many
    tail[8:10] = tail[10:12] = count.to_bytes(2, "little")
    tail[12:16] = (len(table) * many).to_bytes(4, "little")
    path.write_bytes(raw[:start] + table * many + bytes(tail))
    with zipfile.ZipFile(path) as archive:
        assert sum(one.file_size for one in archive.infolist()) > path.stat().st_size
    with pytest.raises(DataError, match="expands beyond its own size"):
        sets.ReleasedSet.load(path)


def test_an_array_that_claims_to_be_larger_than_its_entry_is_refused(path):
    raw = path.read_bytes()
    shape = b"'shape': (4, 3), }" + b" " * 20
    assert raw.count(shape) == 1
    for rows in (5, 4000, 99999999999999):
        claimed = f"'shape': ({rows}, 3), }}".encode()
        path.write_bytes(raw.replace(shape, claimed.ljust(len(shape))))
        with pytest.raises(DataError, match="damaged"):
            sets.ReleasedSet.load(path)


def contents(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def header(path):
    with np.load(path) as archive:
        return json.loads(archive["header"].tobytes())
