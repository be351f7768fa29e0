"""Ids of topics: the embedded cluster is made to give a topic the id that the real Kafka gave it.

The assignors of consumer groups order topics by their ids, so that assignments can only be compared with equal ids.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest

from kafka_groups.broker.metadata import changes

__all__ = ["next_topic_id"]


@contextmanager
def next_topic_id(topic_id: UUID) -> Iterator[None]:
    """Topics that embedded clusters create within the block get this id."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(changes, "random_uuid", lambda _rng: topic_id)
        yield
