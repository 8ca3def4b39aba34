"""Every catalogue data set that needs no network, loaded once."""

import pytest

from rashomon_explorer.data import load_dataset
from rashomon_explorer.data.catalog import read_catalog

OFFLINE = [name for name, entry in read_catalog().items() if entry.offline]


@pytest.fixture(scope="session", params=OFFLINE)
def offline(request):
    return load_dataset(request.param)
