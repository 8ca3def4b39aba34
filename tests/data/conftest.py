"""Every catalogue data set that needs no network, loaded once."""

import pytest

from rashomon_explorer.data import load_dataset

OFFLINE = ("lending", "breast_cancer", "diabetes", "wine", "digits", "monks1", "monks2", "monks3")


@pytest.fixture(scope="session", params=OFFLINE)
def offline(request):
    return load_dataset(request.param)


@pytest.fixture(scope="session")
def lending():
    return load_dataset("lending")
