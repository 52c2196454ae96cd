"""An endpoint that takes batches, and the backbone that asks it without waiting long."""

import pytest
from batch_endpoint import BatchEndpoint
from batched import GOOD, SECRET, entry_of


@pytest.fixture
def server():
    with BatchEndpoint(lambda body: GOOD) as endpoint:
        yield endpoint


@pytest.fixture(autouse=True)
def quick(home, monkeypatch):
    monkeypatch.setattr("perslib.systems.batches.submission.FIRST_LOOK", 0.01)
    monkeypatch.setenv("BATCH_KEY", SECRET)


@pytest.fixture
def entry(server):
    return entry_of(server)
