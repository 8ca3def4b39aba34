"""What was paid for is kept beside the ledger, shown again, and deleted on purpose alone."""

import errno
import stat
from pathlib import Path

import numpy as np
import pytest

from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.set_store import SetStore
from rashomon_explorer.privacy import Ledger


@pytest.fixture(scope="module")
def home(tmp_path_factory, cancer):
    folder = tmp_path_factory.mktemp("home")
    explorer = Explorer(data=cancer, home=folder)
    explorer.state.psi, explorer.state.n_draws = 0.6, 5
    explorer.draw()
    explorer.state.n_draws = 3
    explorer.draw()
    return folder, explorer


def test_a_new_page_shows_the_last_set_again_and_charges_nothing(home, cancer):
    folder, before = home
    again = Explorer(data=cancer, home=folder)
    assert np.array_equal(again.rashomon_set.coef, before.rashomon_set.coef)
    assert again.rashomon_set.guarantee == before.rashomon_set.guarantee
    assert [kept.n_draws for kept in again.state.kept] == [5, 3]
    assert again.state.in_view == 2 and again.state.phase == "done"
    assert again.constants == before.constants
    assert len(again.ledger.entries()) == 2
    assert "drawn" not in again.state.message and "nothing was charged" in again.state.message
    assert "ψ = 0.6" in again.numbers_panel.stale.value


def test_an_earlier_set_is_opened_by_its_label(home, cancer):
    folder, _ = home
    explorer = Explorer(data=cancer, home=folder)
    picker = explorer.bar.sets
    assert [number for _, number in picker.choice.options] == [2, 1]
    picker.choice.value = 1
    assert explorer.state.alert is None
    assert explorer.rashomon_set.n_draws == 5 and explorer.state.in_view == 1
    assert picker.choice.label.startswith("Draw 1 · 5 models · ε = ")


def test_a_page_that_was_made_ahead_catches_up_with_another(tmp_path, cancer):
    ahead, other = (Explorer(data=cancer, home=tmp_path) for _ in range(2))
    ahead._look(None)
    assert ahead.rashomon_set is None
    other.state.psi, other.state.n_draws = 0.6, 2
    other.draw()
    ahead._look(None)
    assert np.array_equal(ahead.rashomon_set.coef, other.rashomon_set.coef)
    assert ahead.state.in_view == 1 and len(ahead.ledger.entries()) == 1
    other.draw()
    ahead._look(None)
    # Who looks at a set keeps it; the new one is offered.
    assert ahead.state.in_view == 1 and [one.number for one in ahead.state.kept] == [1, 2]
    (tmp_path / "breast_cancer.sets" / "0003.json").write_text("{")
    ahead._look(None)
    ahead._look(None)
    assert ahead.state.alert is None and len(ahead.state.kept) == 2


def test_only_the_owner_may_read_the_models(home):
    folder, _ = home
    kept = folder / "breast_cancer.sets" / "0001.npz"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    said = (folder / "breast_cancer.sets" / "0001.json").read_text()
    for private in ("loss", "hit", "excess", "minimum"):
        assert private not in said.replace('"loss": "logistic"', "")


def test_other_columns_are_refused_in_words(home, monkeypatch):
    session = home[1].session
    monkeypatch.setattr(session, "_encoded", session._encoded.iloc[:, 1:])
    with pytest.raises(ValueError, match="other columns than the current table"):
        session.open_saved(1)


def test_a_note_that_is_damaged_hides_no_other(home):
    folder, _ = home
    broken = folder / "breast_cancer.sets" / "0007.json"
    broken.write_text("{")
    assert [kept.number for kept in SetStore(folder / "breast_cancer.ledger").all()] == [1, 2]
    broken.unlink()


def test_deleting_asks_first_and_the_price_stays_spent(tmp_path, cancer):
    explorer = Explorer(data=cancer, home=tmp_path)
    explorer.state.psi, explorer.state.n_draws = 0.6, 2
    explorer.draw()
    picker = explorer.bar.sets
    picker.delete.click()
    assert len(list((tmp_path / "breast_cancer.sets").iterdir())) == 2
    picker.sure.click()
    left = [path.name for path in (tmp_path / "breast_cancer.sets").iterdir()]
    assert left == ["0001.deleted"]  # empty: it says that there is no first draw any more
    assert explorer.rashomon_set is None and explorer.state.kept == ()
    assert explorer.ledger.spent() > 0
    assert explorer.state.alert is None


@pytest.mark.parametrize("error", [OSError("no space left on device"), TypeError("no words")])
def test_where_nothing_can_be_written_the_draws_stay_on_screen(
    tmp_path, cancer, monkeypatch, error
):
    def full(*_args, **_kwargs):
        raise error

    monkeypatch.setattr(SetStore, "keep", full)
    explorer = _drawn(tmp_path, cancer)
    assert explorer.rashomon_set.n_draws == 2 and explorer.state.phase == "done"
    assert str(error) in explorer.state.alert.reason
    assert "save the bundle" in explorer.state.alert.kept


def _drawn(home, data):
    explorer = _opened(home, data)
    explorer.draw()
    return explorer


def _opened(home, data):
    explorer = Explorer(data=data, home=home)
    for name, value in {"psi": 0.6, "n_draws": 2, "epsilon": 2.0}.items():
        setattr(explorer.state, name, value)
    return explorer


def test_a_set_without_its_note_is_shown_with_the_constants_of_its_plan(tmp_path, cancer):
    before = _drawn(tmp_path, cancer)
    (tmp_path / "breast_cancer.sets" / "0001.json").unlink()
    again = Explorer(data=cancer, home=tmp_path)
    assert np.array_equal(again.rashomon_set.coef, before.rashomon_set.coef)
    assert again.state.in_view == 1 and again.state.alert is None
    assert again.constants == before.constants
    assert again.numbers_panel.stale.value == ""


def _away(*_args, **_named):
    raise OSError(errno.EMFILE, "Too many open files")


def test_sets_that_cannot_be_read_now_are_told_and_shown_when_they_can(
    tmp_path, cancer, monkeypatch
):
    drawn = _drawn(tmp_path, cancer)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", _away)
        patch.setattr("rashomon_explorer.explorer.set_store.load", _away)
        again = Explorer(data=cancer, home=tmp_path)
        assert again.rashomon_set is None and "Too many open files" in again.state.alert.reason
        told = again._look(None)
        assert "Too many open files" in told.reason and again._look(told) is told
    assert again._look(told) is None and again.state.alert is None
    assert np.array_equal(again.rashomon_set.coef, drawn.rashomon_set.coef)
    assert again.state.in_view == 1


def test_an_error_that_passes_takes_no_set_off_the_page(tmp_path, cancer, monkeypatch):
    page, other = _drawn(tmp_path, cancer), _opened(tmp_path, cancer)
    other.draw()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", _away)
        patch.setattr("rashomon_explorer.explorer.set_store.load", _away)
        assert page._look(None) is not None
        assert page.state.in_view == 1 and [one.number for one in page.state.kept] == [1]
        page.draw()  # its note cannot be read, and it is offered
        assert page.state.in_view == 3 and [one.number for one in page.state.kept] == [1, 3]
    page._look(None)
    assert page.state.in_view == 3 and [one.number for one in page.state.kept] == [1, 2, 3]


def test_of_two_first_draws_at_once_the_later_opens_the_ledger_of_the_other(
    tmp_path, cancer, monkeypatch
):
    create = Ledger.create

    def late(path, **_budget):
        monkeypatch.undo()
        create(path, epsilon=5.0, delta=1e-6).close()  # the other page, with a budget of its own
        return create(path, **_budget)

    monkeypatch.setattr(Ledger, "create", late)
    page = _drawn(tmp_path, cancer)
    assert page.state.alert is None and page.rashomon_set.n_draws == 2
    assert page.ledger.budget == (5.0, 1e-6) and len(page.ledger.entries()) == 1
    assert page.state.account.budget == 5.0


def test_a_ledger_that_cannot_be_made_is_an_error_still(tmp_path, cancer, monkeypatch):
    def refused(*_args, **_budget):
        raise LedgerError("cannot create the ledger")

    explorer = Explorer(data=cancer, home=tmp_path)
    monkeypatch.setattr(Ledger, "create", refused)
    with pytest.raises(LedgerError, match="cannot create"):
        explorer.draw()
    assert explorer.rashomon_set is None and explorer.ledger is None
