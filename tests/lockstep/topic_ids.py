"""Ids of topics: the embedded cluster is made to give a topic the id that the real Kafka gave it.

The assignors of consumer groups order topics by their ids, so that assignments can only be compared with equal ids.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from uuid import UUID

import pytest

from kafka_groups.broker.metadata import changes
from tests.lockstep.side import Side
from tests.lockstep.steps import CreateTopic, Step

__all__ = ["next_topic_id", "topic_id_of"]


@contextmanager
def next_topic_id(topic_id: UUID) -> Iterator[None]:
    """Topics that embedded clusters create within the block get this id."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(changes, "random_uuid", lambda _rng: topic_id)
        yield


def topic_id_of(step: Step, real: Side) -> AbstractContextManager[None]:
    """If a step creates a topic, embedded clusters give it within the block the id that it has in the real Kafka."""
    return next_topic_id(real.topic_id(step.topic)) if isinstance(step, CreateTopic) else nullcontext()
