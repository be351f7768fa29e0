from itertools import count
from typing import Any
from uuid import UUID

import pytest

from kafka_groups.broker.api import offset_commit
from kafka_groups.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition

KEPT_MS = 1_000


class MovingTime:
    """What a request sees of a clock that is a millisecond later each time it is read."""

    def __init__(self) -> None:
        self._times = count(1_700_000_000_000)

    @property
    def wall_ms(self) -> int:
        """The time."""
        return next(self._times)


@pytest.mark.parametrize("kept_ms", [0, KEPT_MS, 2**63 - 1, -(2**63)])
def test_an_offset_expires_as_long_after_its_commit_as_was_asked_for(kept_ms: int) -> None:
    request = OffsetCommitRequest(group_id="g", topics=(), retention_time_ms=kept_ms)
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
    context: Any = MovingTime()
    stored = offset_commit._committed(request, context, partition, UUID(int=0))
    lasts_ms = stored.expire_timestamp_ms - stored.commit_timestamp_ms
    assert lasts_ms % 2**64 == kept_ms % 2**64
