"""A public demo: shipped tables, no files, and a folder of its own for each page."""

import pytest

from rashomon_explorer import Explorer
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.session import DEMO_VARIABLE, HOME_VARIABLE


@pytest.fixture
def demo(monkeypatch, tmp_path):
    monkeypatch.setenv(DEMO_VARIABLE, "1")
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))


def test_each_page_has_ledgers_of_its_own(demo, tmp_path):
    homes = {Explorer().session.home for _ in range(2)}
    assert len(homes) == 2 and {home.parent for home in homes} == {tmp_path}


def test_only_shipped_tables_are_offered(demo):
    panel = Explorer().data_panel
    names = [name for _, name in panel.name.options]
    assert {"lending", "south_german_credit"} < set(names)
    assert not {"adult", "compas", "acs_income"} & set(names)
    assert not any("your own" in label or "OpenML" in label for label, _ in panel.name.options)


def test_a_crafted_message_brings_no_file(demo):
    panel = Explorer().data_panel
    for act in (panel.schema._on_file, panel.schema._take_file, panel.openml._fetch):
        with pytest.raises(DataError, match=r"the demo .*: install the package"):
            act()
