"""What all tests of the broker have in common."""

from collections.abc import Iterator

import pytest

from kafka_groups.broker.runtime.scheduling.full_collections import FULL_COLLECTIONS


@pytest.fixture(autouse=True)
def full_collections_come_back() -> Iterator[None]:
    """Fail a test after which Python makes no full collections any more: what it left postpones them for others."""
    yield
    assert not FULL_COLLECTIONS.is_postponed, "a shard is still loading, or a request is under way"
