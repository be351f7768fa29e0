"""What the wire shows of committed offsets: no commit is lost, and none that was refused takes effect."""

from collections.abc import Callable, Iterator
from uuid import UUID

from attrs import define, field

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponseTopic,
)
from kafka_groups.protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kafka_groups.testing.simulation.checks.ledger import SentRequest

__all__ = ["OffsetLedger", "Partition"]

Partition = tuple[str, int]
"""The name of a topic, and a number."""
_Named = OffsetCommitRequestTopic | OffsetCommitResponseTopic | OffsetFetchResponseTopic
_LATE_MS = 30_000
"""A request whose response was never sent takes effect within this time, or never."""
_UNKNOWN = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.REQUEST_TIMED_OUT})
"""After these errors a commit may have been stored."""


@define(eq=False)
class _Write:
    """A commit of one partition.

    Attributes:
        sent_ms: When it was sent.
        done_ms: When the response was sent. None: not yet.
        error: The error of the response.
    """

    sent_ms: int
    done_ms: int | None = None
    error: ErrorCode | None = None

    @property
    def is_stored(self) -> bool:
        return self.error is ErrorCode.NONE

    @property
    def is_refused(self) -> bool:
        return self.error is not None and not self.is_stored and self.error not in _UNKNOWN

    @property
    def last_ms(self) -> int:
        """The last moment at which it may have taken effect."""
        return self.done_ms if self.is_stored and self.done_ms is not None else self.sent_ms + _LATE_MS


@define(eq=False)
class OffsetLedger:
    """All commits by partition and mark, which the metadata of an offset contain.

    Attributes:
        name_of: Returns the name of a topic, for versions in which topics have ids.
    """

    name_of: Callable[[UUID], str] = str
    _writes: dict[Partition, dict[str, _Write]] = field(factory=dict)

    def commit_asked(self, sent: SentRequest) -> None:
        """A member commits."""
        for partition, mark in self._marks(sent.message):
            self._writes.setdefault(partition, {})[mark] = _Write(sent.sent_ms)

    def commit_answered(self, sent: SentRequest, response: OffsetCommitResponse, now_ms: int) -> None:
        """The coordinator says whether the offsets are stored."""
        errors = {
            (self._name(topic), each.partition_index): each.error_code
            for topic in response.topics
            for each in topic.partitions
        }
        for partition, mark in self._marks(sent.message):
            write = self._writes[partition][mark]
            write.done_ms, write.error = now_ms, errors[partition]

    def fetch_answered(self, sent: SentRequest, response: OffsetFetchResponse) -> Iterator[str]:
        """The coordinator says what is stored. Yields what cannot be."""
        for group in response.groups:
            for topic in group.topics:
                for each in topic.partitions:
                    yield from self._contradictions(self._name(topic), each, sent.sent_ms)

    def _contradictions(self, topic: str, read: OffsetFetchResponsePartition, asked_ms: int) -> Iterator[str]:
        writes = self._writes.get((topic, read.partition_index), {})
        overwritten = [each for each in writes.values() if each.is_stored and (each.done_ms or 0) < asked_ms]
        place = f"{topic}-{read.partition_index}"
        if read.committed_offset < 0:
            if overwritten:
                yield f"{place}: committed offsets are lost"
            return
        found = writes.get(read.metadata or "")
        if found is None:
            yield f"{place}: nobody committed {read.metadata!r}"
        elif found.is_refused:
            yield f"{place}: the commit {read.metadata!r} was refused, and took effect"
        elif any(each.sent_ms > found.last_ms for each in overwritten):
            yield f"{place}: the commit {read.metadata!r} is there again, after a later one"

    def _marks(self, request: OffsetCommitRequest) -> Iterator[tuple[Partition, str]]:
        for topic in request.topics:
            for each in topic.partitions:
                yield (self._name(topic), each.partition_index), each.committed_metadata or ""

    def _name(self, topic: _Named) -> str:
        return topic.name or (self.name_of(topic.topic_id) if topic.topic_id is not None else "")
