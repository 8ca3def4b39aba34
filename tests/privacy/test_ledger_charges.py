"""A charge is on the disk before rows are read, and voided only before anything ran under it."""

import os
import pickle
import sqlite3
import traceback
from contextlib import contextmanager
from unittest.mock import Mock

import numpy as np
import opendp.prelude as dp
import pytest

from rashomon_explorer import DPClassifier, RashomonClassifier
from rashomon_explorer.exceptions import BudgetExceededError, FitError, LedgerWarning
from rashomon_explorer.privacy import Charge, Ledger, LedgerError, adaptive_epsilon
from rashomon_explorer.privacy.ledger import file
from rashomon_explorer.privacy.ledger.totals import Totals
from rashomon_explorer.privacy.notions import approximate, bounded_range, no_guarantee, pure, zcdp
from rashomon_explorer.release import release

X, Y = [[0.4], [0.3], [-0.4], [-0.2]] * 50, [1, 1, 0, 0] * 50
ANOTHER = r"is not the ledger that was opened there.*Restore that file; or.*open it"


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.setattr(file, "_LOCK_SECONDS", 0.05)
    return Ledger.create(tmp_path / "data.ledger", epsilon=50.0, delta=1e-6)


@pytest.fixture
def other(tmp_path):
    return Ledger.create(tmp_path / "other.ledger", epsilon=9.0)


@contextmanager
def locked(ledger):
    """Another program holds the ledger's lock."""
    connection = sqlite3.connect(ledger.path, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    yield
    connection.close()


@contextmanager
def locked_after_work(ledger, monkeypatch):
    """Another program holds the ledger from the moment at which the work on rows has ended."""
    connection = sqlite3.connect(ledger.path, isolation_level=None)
    with monkeypatch.context() as patch:

        def run(work):
            result = work()
            connection.execute("BEGIN EXCLUSIVE")
            return result

        patch.setattr("rashomon_explorer.privacy.ledger.charge.run_with_constant_error", run)
        yield
    connection.close()


class TestVoid:
    def test_a_voided_charge_stays_and_does_not_count(self, ledger):
        ledger.reserve(pure(0.1)).commit()
        ledger.reserve(pure(49.9), note="too much").void("chose another ψ")
        counted, voided = ledger.entries()
        assert counted.counts and not voided.counts and voided.note == "too much"
        assert (voided.state, voided.voided_why) == ("voided", "chose another ψ")
        assert str(os.getpid()) in str(voided.voided_by)
        assert str(voided.voided_when).endswith("+00:00")
        assert ledger.spent() == 0.1 and ledger.can_afford(pure(49.9))
        ledger.check()

    def test_another_process_cannot_void(self, ledger, monkeypatch):
        charge = ledger.reserve(pure(0.5))
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(charge)
        monkeypatch.setattr(os, "getpid", lambda: 1)
        with pytest.raises(LedgerError, match="only by the process that reserved it"):
            charge.void()
        assert ledger.spent() == 0.5

    def test_voids_do_not_move_delta_after_something_was_seen(self, ledger):
        first = ledger.reserve(approximate(0.1, 1e-8))
        second = ledger.reserve(bounded_range(0.1))
        first.void()
        assert not ledger.can_afford(zcdp(1e-6))
        ledger.reserve(approximate(0.1, 1e-8)).void()  # δ still covers leaks, by the first charge
        second.void()  # with every charge voided the choice is open again
        ledger.reserve(bounded_range(0.1))
        with pytest.raises(LedgerError, match="begins with one"):
            ledger.reserve(approximate(0.1, 1e-8))
        ledger.check()

    def test_the_running_totals_are_the_sum_of_the_entries(self, tmp_path):
        ledger = Ledger.create(tmp_path / "records.ledger")
        prices = [pure(0.1), bounded_range(1 / 3), zcdp(1e-9), pure(1e12), no_guarantee("chain")]
        for k in range(15):
            charge = ledger.reserve(prices[k % len(prices)])
            if k % len(prices) >= 3:  # what is large or infinite goes again, and leaves no trace
                charge.void()
            counted = [entry.guarantee for entry in ledger.entries() if entry.counts]
            for delta in (0.0, 1e-6):
                total = adaptive_epsilon(counted, delta)
                assert ledger.totals.epsilon(delta) == total >= ledger.spent(delta)
        ledger.check()
        assert 0 < ledger.spent(1e-6) < 20


class TestCommit:
    def test_a_result_returns_if_its_end_cannot_be_written(self, ledger, monkeypatch):
        charge = ledger.reserve(pure(0.5))
        with (
            locked_after_work(ledger, monkeypatch),
            pytest.warns(LedgerWarning, match="charge 1 could not be"),
        ):
            assert charge.run(lambda: "paid for") == "paid for"
        (entry,) = ledger.entries()
        assert (entry.state, entry.standing, ledger.spent()) == ("started", "spent", 0.5)
        ledger.check()
        charge.commit()
        assert ledger.entries()[0].state == "committed" and ledger.spent() == 0.5

    @pytest.mark.parametrize("loss", ["missing", "another", "unreadable", "failing disk"])
    def test_a_result_returns_whatever_became_of_the_file(self, ledger, other, loss, monkeypatch):
        charge = ledger.reserve(pure(0.5))

        def fail():
            raise OSError(5, "Input/output error")

        def work():
            if loss == "missing":
                ledger.path.unlink()
            elif loss == "another":
                os.replace(other.path, ledger.path)
            elif loss == "unreadable":
                ledger.path.write_bytes(b"no ledger" * 100)
            else:
                monkeypatch.setattr(charge, "commit", fail)
            return "paid for"

        with pytest.warns(LedgerWarning, match="complete and charged"):
            assert charge.run(work) == "paid for"
        if loss == "another":
            assert Ledger(ledger.path).entries() == []  # nothing was written into it

    def test_nothing_runs_if_the_start_cannot_be_written(self, ledger):
        charge, runs = ledger.reserve(pure(0.5)), []
        with locked(ledger), pytest.raises(LedgerError):
            charge.run(lambda: runs.append(1))
        assert not runs and ledger.entries()[0].state == "reserved"

    def test_no_cost_depends_on_a_result_whose_end_was_not_written(self, ledger, monkeypatch):
        """The file says started, as before the run; only the charge knows that it has returned."""
        charge = ledger.reserve(pure(0.5))
        charge.start()
        ledger.reserve(pure(0.8), extends=charge).void()
        with pytest.raises(FitError):
            charge.run(lambda: [][0])  # which returns nothing
        rest = ledger.reserve(pure(0.8), extends=charge)
        with locked_after_work(ledger, monkeypatch), pytest.warns(LedgerWarning):
            charge.run(lambda: "seen")
        with pytest.raises(LedgerError, match="may have been seen"):
            rest.void()
        another = ledger.reserve(pure(0.5))
        with locked_after_work(ledger, monkeypatch), pytest.warns(LedgerWarning):
            another.run(lambda: "seen")
        with pytest.raises(LedgerError, match="may have been seen"):
            ledger.reserve(pure(0.8), extends=another)
        assert ledger.spent() == pytest.approx(1.3)

    def test_a_fit_and_a_release_are_returned(self, ledger, monkeypatch):
        known = {"classes": [0, 1], "ledger": ledger}
        one = DPClassifier(mechanism="output_perturbation", epsilon=1.0, **known)
        several = RashomonClassifier(mechanism="exact", n_draws=2, epsilon=20.0, **known)
        for estimator in (one, several):
            with locked_after_work(ledger, monkeypatch), pytest.warns(LedgerWarning):
                estimator.fit(X, Y)
        assert one.encoded_coef_.shape == (1, 1) and several.rashomon_set_.n_draws == 2
        models = several.rashomon_set_.release()
        with locked_after_work(ledger, monkeypatch), pytest.warns(LedgerWarning):
            released = release(models, X, Y, queries=["ambiguity"], epsilon=1.0, ledger=ledger)
        assert released.charge == 3 and len(released.statistics) == 1
        assert {entry.state for entry in ledger.entries()} == {"started"}


class TestAnotherFile:
    """Another ledger's file at a ledger's path is noticed before it is written to or read."""

    @pytest.mark.parametrize(
        "call",
        [
            lambda ledger: ledger.reserve(pure(0.1)),
            lambda ledger: ledger.can_afford(pure(0.1)),
            lambda ledger: pickle.loads(pickle.dumps(ledger)).reserve(pure(0.1)),
            Ledger.spent,
            Ledger.entries,
            Ledger.check,
            Ledger.export,
        ],
    )
    def test_an_open_ledger_notices_it(self, ledger, other, call):
        other.path.replace(ledger.path)
        before = ledger.path.read_bytes()
        with pytest.raises(LedgerError, match=ANOTHER):
            call(ledger)
        assert ledger.path.read_bytes() == before

    @pytest.mark.parametrize("step", [Charge.start, Charge.commit, Charge.void])
    def test_a_charge_marks_no_other_ledger_s(self, ledger, other, step):
        charge = ledger.reserve(pure(0.1))
        other.reserve(pure(0.7))  # of the same number
        own = ledger.path.rename(ledger.path.with_name("own.ledger"))
        other.path.replace(ledger.path)
        for call in (step, lambda charge: charge.run(lambda: pytest.fail("rows were read"))):
            with pytest.raises(LedgerError, match=ANOTHER):
                call(charge)
        assert Ledger(ledger.path).entries()[0].state == "reserved"
        own.replace(ledger.path)
        step(charge)
        assert ledger.entries()[0].state != "reserved"

    def test_a_charge_extends_none_of_another_file(self, ledger, other):
        charge = ledger.reserve(pure(0.5))
        charge.start()
        other.reserve(pure(0.5)).start()
        other.path.replace(ledger.path)
        anew = Ledger(ledger.path)
        with pytest.raises(LedgerError, match=r"charge 1 belongs to a ledger that was at .* befor"):
            anew.reserve(pure(0.8), extends=charge)
        assert anew.spent() == 0.5

    def test_a_moved_ledger_is_the_same(self, ledger, tmp_path):
        """Only the path is another: it goes on there, and so does a copy that is restored."""
        ledger.reserve(pure(0.25)).commit()
        backup = ledger.path.read_bytes()
        assert Ledger(ledger.path.rename(tmp_path / "moved.ledger")).spent() == 0.25
        ledger.path.write_bytes(backup)
        ledger.reserve(pure(0.25))


def test_a_block_is_charged_before_it_runs_and_committed_after(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=1.0)
    with ledger.charge(pure(0.5), note="mine", parameters={"k": 1}) as charge:
        assert (ledger.spent(), ledger.entries()[0].state) == (0.5, "started")
    (entry,) = ledger.entries()
    assert (entry.id, entry.state) == (charge.id, "committed")
    assert (entry.note, entry.parameters) == ("mine", {"k": 1})
    with pytest.raises(BudgetExceededError), ledger.charge(pure(0.6)):
        pytest.fail("the block ran")
    assert ledger.spent() == 0.5 and charge.returned


def test_a_block_that_fails_stays_charged_and_tells_nothing(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=1.0)
    with pytest.raises(FitError) as caught, ledger.charge(pure(0.5)):
        raise ValueError("row 7 is Ann's")
    assert str(caught.value) == str(FitError("")) and "Ann" in caught.value.detail
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    assert "Ann" not in "".join(traceback.format_exception(caught.value))
    assert (ledger.spent(), ledger.entries()[0].state) == (0.5, "started")
    with pytest.raises(MemoryError), ledger.charge(pure(0.25)):
        raise MemoryError
    stopped = pytest.raises(KeyboardInterrupt, match=r"charge 3 of .* counts as spent")
    with stopped, ledger.charge(pure(0.125)):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt, match=r"charge 4 of .* counts as spent"):
        ledger.reserve(pure(0.125)).run(Mock(side_effect=KeyboardInterrupt))
    assert ledger.spent() == 1.0


def test_mechanisms_of_opendp_are_charged_what_their_maps_say(tmp_path):
    dp.enable_features("contrib", "honest-but-curious")
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=1.0, delta=1e-6)
    ages = np.array([31, 47, 52])
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    laplace = dp.m.make_laplace(*space, scale=4.0)
    with ledger.charge(pure(laplace.map(1)), note="OpenDP: Laplace count"):
        released = laplace(int((ages > 40).sum()))
    gaussian = dp.m.make_gaussian(*space, scale=20.0)
    with ledger.charge(zcdp(gaussian.map(1)), note="OpenDP: Gaussian count"):
        gaussian(int((ages > 50).sum()))
    assert isinstance(released, int)
    assert ledger.totals == Totals.from_charges([pure(0.25), zcdp(0.00125)], ledger.order)


class TestParameters:
    @pytest.mark.parametrize(
        "value",
        [float("nan"), np.float32("inf"), {1}, object(), [{"deep": float("-inf")}]],
        ids=["nan", "inf", "set", "object", "deep"],
    )
    def test_one_that_is_not_json_is_refused_before_the_charge(self, ledger, value):
        with pytest.raises(ValueError, match=r"must be JSON values.*Nothing was charged"):
            ledger.reserve(pure(0.1), parameters={"a": value})
        assert ledger.entries() == []

    def test_numbers_of_numpy_are_numbers(self, ledger):
        ledger.reserve(pure(np.float32(0.5)), parameters={"a": np.float32(0.5), "n": np.int64(3)})
        (entry,) = ledger.entries()
        assert entry.parameters == {"a": 0.5, "n": 3} and ledger.spent() == 0.5


@pytest.mark.parametrize(
    ("number", "settings"),
    [
        *((number, {"family": "trees"}) for number in (np.float64, np.float32, np.int64)),
        (np.float16, {"mechanism": "objective_perturbation"}),
        (np.uint8, {"mechanism": "objective_perturbation", "standardize": "private"}),
    ],
)
def test_a_budget_of_numpy_is_that_of_the_same_number(tmp_path, number, settings):
    X = np.random.default_rng(0).integers(0, 2, (300, 2)) * 0.5
    ledger = Ledger.create(tmp_path / "n.ledger", epsilon=number(2), delta=np.float32(1e-6))
    known = {"classes": [0, 1], "delta": float(np.float32(1e-6)), "ledger": ledger}
    rows = X * 2 if settings.get("family") == "trees" else X
    fitted = DPClassifier(epsilon=number(1), **known, **settings).fit(rows, (X[:, 0] > 0) * 1)
    plain = DPClassifier(epsilon=1.0, **known, **settings).plan(np.int64(300), 2)
    assert fitted.guarantee_.epsilon(1e-6) == plain.guarantee.epsilon(1e-6)
    assert ledger.spent() <= 1.0 + 1e-9
