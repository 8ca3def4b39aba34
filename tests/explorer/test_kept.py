"""What was paid for is kept beside the ledger, shown again, and deleted on purpose alone."""

import errno
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.set_store import SetStore
from rashomon_explorer.privacy import Ledger
from tests.explorer.pages import set_state


def _opened(home, data):
    explorer = Explorer(data=data, home=home)
    set_state(explorer, psi=0.6, n_draws=2, epsilon=2.0)
    return explorer


def _drawn(home, data):
    explorer = _opened(home, data)
    explorer.draw()
    return explorer


def _numbers(page):
    return [one.number for one in page.state.saved_sets]


@contextmanager
def _unread():
    """No file can be read for a while."""
    away = Mock(side_effect=OSError(errno.EMFILE, "Too many open files"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "read_bytes", away)
        patch.setattr("rashomon_explorer.explorer.set_store.load", away)
        yield


@pytest.fixture(scope="module")
def home(tmp_path_factory, cancer):
    explorer = _drawn(tmp_path_factory.mktemp("home"), cancer)
    explorer.state.n_draws = 3
    explorer.draw()
    return explorer.session.home, explorer


def test_a_new_page_shows_the_last_set_again_and_charges_nothing(home, cancer):
    folder, before = home
    again = Explorer(data=cancer, home=folder)
    assert np.array_equal(again.rashomon_set.coef, before.rashomon_set.coef)
    assert again.rashomon_set.guarantee == before.rashomon_set.guarantee
    assert [kept.n_draws for kept in again.state.saved_sets] == [2, 3]
    assert again.state.in_view == 2 and again.state.phase == "done"
    assert again.constants == before.constants and len(again.ledger.entries()) == 2
    picker = again.bar.sets
    assert [number for _, number in picker.choice.options] == [2, 1]
    picker.choice.value = 1
    assert again.state.alert is None
    assert again.rashomon_set.n_draws == 2 and again.state.in_view == 1
    assert picker.choice.label.startswith("Draw 1 · 2 models · ε = ")


def test_a_note_is_public_a_damaged_one_hides_no_other_and_other_columns_are_refused(
    home, monkeypatch
):
    sets = home[0] / "breast_cancer.sets"
    said = (sets / "0001.json").read_text().replace('"loss": "logistic"', "")
    assert not [one for one in ("loss", "hit", "excess", "minimum") if one in said]
    (sets / "0007.json").write_text("{")
    assert [kept.number for kept in SetStore(home[0] / "breast_cancer.ledger").all()] == [1, 2]
    (sets / "0007.json").unlink()
    session = home[1].session
    monkeypatch.setattr(session, "_encoded", session._encoded.iloc[:, 1:])
    with pytest.raises(ValueError, match="other columns than the current table"):
        session.open_saved(1)


@pytest.mark.slow
def test_a_page_that_was_made_ahead_catches_up_with_another(tmp_path, cancer):
    ahead, other = (_opened(tmp_path, cancer) for _ in range(2))
    ahead._poll_ledger(None)
    assert ahead.rashomon_set is None
    other.draw()
    ahead._poll_ledger(None)
    assert np.array_equal(ahead.rashomon_set.coef, other.rashomon_set.coef)
    assert ahead.state.in_view == 1 and len(ahead.ledger.entries()) == 1
    other.draw()
    ahead._poll_ledger(None)
    # Who looks at a set keeps it; the new one is offered.
    assert ahead.state.in_view == 1 and _numbers(ahead) == [1, 2]
    (tmp_path / "breast_cancer.sets" / "0003.json").write_text("{")
    for _ in range(2):
        ahead._poll_ledger(None)
    assert ahead.state.alert is None and _numbers(ahead) == [1, 2]


def test_deleting_asks_first_and_the_price_stays_spent(tmp_path, cancer):
    explorer, folder = _drawn(tmp_path, cancer), tmp_path / "breast_cancer.sets"
    picker = explorer.bar.sets
    picker.menu.value = True
    picker.delete.click()
    assert "ε = 2 stays spent" in picker.question.text.html
    picker.question.no.click()
    assert not picker.question.open
    picker.delete.click()
    assert len(list(folder.iterdir())) == 2
    picker.question.yes.click()
    assert not picker.menu.value and picker.menu.layout.display == "none"
    # Empty: it says that there is no first draw any more.
    assert [path.name for path in folder.iterdir()] == ["0001.deleted"]
    assert explorer.rashomon_set is None and explorer.state.saved_sets == ()
    assert explorer.ledger.spent() > 0 and explorer.state.alert is None


@pytest.mark.slow
def test_sets_that_cannot_be_read_now_are_told_stay_and_are_shown_when_they_can(tmp_path, cancer):
    drawn = _drawn(tmp_path, cancer)
    with _unread():
        again = Explorer(data=cancer, home=tmp_path)
        assert again.rashomon_set is None and "Too many open files" in again.state.alert.reason
        told = again._poll_ledger(None)
        assert "Too many open files" in told.reason and again._poll_ledger(told) is told
    assert again._poll_ledger(told) is None and again.state.alert is None
    assert np.array_equal(again.rashomon_set.coef, drawn.rashomon_set.coef)
    assert again.state.in_view == 1
    page, other = again, _opened(tmp_path, cancer)  # nor does it take a set off the page
    other.draw()
    with _unread():
        assert page._poll_ledger(None) is not None
        assert page.state.in_view == 1 and _numbers(page) == [1]
        page.draw()  # its note cannot be read, and it is offered
        assert page.state.in_view == 3 and _numbers(page) == [1, 3]
    page._poll_ledger(None)
    assert page.state.in_view == 3 and _numbers(page) == [1, 2, 3]


def test_of_two_first_draws_at_once_the_later_opens_the_ledger_of_the_other(
    tmp_path, cancer, monkeypatch
):
    create = Ledger.create

    def late(path, **budget):
        monkeypatch.undo()
        create(path, epsilon=5.0, delta=1e-6).close()  # the other page, with a budget of its own
        return create(path, **budget)

    refused = Mock(side_effect=LedgerError("cannot create the ledger"))
    page = _opened(tmp_path, cancer)
    with monkeypatch.context() as patch:  # where there is no other, it is an error still
        patch.setattr(Ledger, "create", refused)
        with pytest.raises(LedgerError, match="cannot create"):
            page.draw()
    assert page.rashomon_set is None and page.ledger is None
    monkeypatch.setattr(Ledger, "create", late)
    page.draw()
    assert page.state.alert is None and page.rashomon_set.n_draws == 2
    assert page.ledger.budget == (5.0, 1e-6) and len(page.ledger.entries()) == 1
    assert page.state.account.budget == 5.0
