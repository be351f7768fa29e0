"""Golden frames about share state and start offsets: how they come about, and what they say.

Kafka's brokers send the requests about share state to each other; no client does.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.apis import ApiKey, api_of
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareStatePartition,
    DeleteShareStateTopic,
)
from kafka_groups.protocol.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareStatePartition,
    InitializeShareStateTopic,
)
from kafka_groups.protocol.messages.read_share_group_state import (
    ReadShareGroupStateRequest,
    ReadShareStatePartition,
    ReadShareStateTopic,
)
from kafka_groups.protocol.messages.read_share_group_state_summary import (
    ReadShareGroupStateSummaryRequest,
    ReadShareStateSummaryPartition,
    ReadShareStateSummaryTopic,
)
from kafka_groups.protocol.messages.share_state import UNKNOWN_COUNT, StateBatch
from kafka_groups.protocol.messages.write_share_group_state import (
    WriteShareGroupStateRequest,
    WriteShareStatePartition,
    WriteShareStateTopic,
)
from tests.recording.golden import Golden
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import RawConnection

STATE_EPOCH, LEADER_EPOCH, START_OFFSET, COUNT = 2, 3, 5, 1
BATCHES = (
    StateBatch(first_offset=6, last_offset=6, delivery_state=2, delivery_count=1),
    StateBatch(first_offset=7, last_offset=9, delivery_state=0, delivery_count=2),
)
NEWEST, OLDEST = "state", "state0"
"""Sources of frames in the newest and in the oldest versions."""


def _results(message: Any) -> Iterator[Any]:
    return (partition for topic in message.results for partition in topic.partitions)


def _with(code: ErrorCode) -> Any:
    return lambda message: any(result.error_code is code for result in _results(message))


STATE_RESPONSES: Mapping[ApiKey, Mapping[str, Any]] = {
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: {
        "initialised": _with(ErrorCode.NONE),
        "initialise-fenced": _with(ErrorCode.FENCED_STATE_EPOCH),
    },
    ApiKey.WRITE_SHARE_GROUP_STATE: {
        "written": _with(ErrorCode.NONE),
        "write-fenced": _with(ErrorCode.FENCED_STATE_EPOCH),
    },
    ApiKey.READ_SHARE_GROUP_STATE: {
        "read": lambda message: any(result.state_batches for result in _results(message)),
        "read-fenced": _with(ErrorCode.FENCED_LEADER_EPOCH),
    },
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: {"summary": _with(ErrorCode.NONE)},
    ApiKey.DELETE_SHARE_GROUP_STATE: {"deleted": _with(ErrorCode.NONE)},
}
"""API → name of a frame → whether a response is the one that is wanted. The requests are ours and are not kept."""


@frozen
class StateTour:
    """Asks for everything about partition 0 of a topic, in the newest or in the oldest versions."""

    connection: RawConnection
    source: str
    group_id: str
    topic_id: UUID

    def run(self) -> None:
        """From the initialisation to the deletion."""
        wait_until(lambda: self._initialize(STATE_EPOCH).error_code is ErrorCode.NONE, 60)
        self._initialize(STATE_EPOCH - 1)
        self._read(LEADER_EPOCH)
        self._write(STATE_EPOCH)
        self._write(STATE_EPOCH - 1)
        self._read(LEADER_EPOCH)
        self._read(LEADER_EPOCH - 1)
        partition = ReadShareStateSummaryPartition(partition=0, leader_epoch=LEADER_EPOCH)
        summarised = ReadShareStateSummaryTopic(topic_id=self.topic_id, partitions=(partition,))
        self._ask(ReadShareGroupStateSummaryRequest(group_id=self.group_id, topics=(summarised,)))
        deleted = DeleteShareStateTopic(topic_id=self.topic_id, partitions=(DeleteShareStatePartition(partition=0),))
        self._ask(DeleteShareGroupStateRequest(group_id=self.group_id, topics=(deleted,)))

    def _initialize(self, state_epoch: int) -> Any:
        partition = InitializeShareStatePartition(partition=0, state_epoch=state_epoch, start_offset=START_OFFSET)
        topic = InitializeShareStateTopic(topic_id=self.topic_id, partitions=(partition,))
        return self._ask(InitializeShareGroupStateRequest(group_id=self.group_id, topics=(topic,)))

    def _read(self, leader_epoch: int) -> Any:
        partition = ReadShareStatePartition(partition=0, leader_epoch=leader_epoch)
        topic = ReadShareStateTopic(topic_id=self.topic_id, partitions=(partition,))
        return self._ask(ReadShareGroupStateRequest(group_id=self.group_id, topics=(topic,)))

    def _write(self, state_epoch: int) -> Any:
        partition = WriteShareStatePartition(
            partition=0,
            state_epoch=state_epoch,
            leader_epoch=LEADER_EPOCH,
            start_offset=START_OFFSET,
            delivery_complete_count=COUNT,
            state_batches=BATCHES,
        )
        topic = WriteShareStateTopic(topic_id=self.topic_id, partitions=(partition,))
        return self._ask(WriteShareGroupStateRequest(group_id=self.group_id, topics=(topic,)))

    def _ask(self, request: object) -> Any:
        versions = api_of(type(request)).versions
        response = self.connection.ask(request, versions.high if self.source == NEWEST else versions.low)
        return response.results[0].partitions[0]


# ------------------------------------------------------------------------------------ what the frames say


def _is_result(message: Any, code: ErrorCode = ErrorCode.NONE) -> Any:
    (topic,) = message.results
    (result,) = topic.partitions
    assert topic.topic_id is not None
    assert (result.partition, result.error_code) == (0, code)
    assert (result.error_message is None) == (code is ErrorCode.NONE)
    return result


def _succeeded(message: Any, group: str, topic: str, frame: Golden) -> None:
    _is_result(message)


def _fenced(message: Any, group: str, topic: str, frame: Golden) -> None:
    result = _is_result(message, ErrorCode.FENCED_STATE_EPOCH)
    assert result.error_message.endswith("the state epoch did not match.")


def _read(message: Any, group: str, topic: str, frame: Golden) -> None:
    result = _is_result(message)
    assert (result.state_epoch, result.start_offset, result.state_batches) == (STATE_EPOCH, START_OFFSET, BATCHES)


def _read_fenced(message: Any, group: str, topic: str, frame: Golden) -> None:
    result = _is_result(message, ErrorCode.FENCED_LEADER_EPOCH)
    assert (result.state_epoch, result.start_offset, result.state_batches) == (0, 0, ())


def _summary(message: Any, group: str, topic: str, frame: Golden) -> None:
    result = _is_result(message)
    assert (result.state_epoch, result.leader_epoch, result.start_offset) == (STATE_EPOCH, LEADER_EPOCH, START_OFFSET)
    assert result.delivery_complete_count == (COUNT if frame.version == 1 else UNKNOWN_COUNT)


def _alter_offsets(message: Any, group: str, topic: str, frame: Golden) -> None:
    (altered,) = message.topics
    (partition,) = altered.partitions
    assert (message.group_id, altered.topic_name) == (group, topic)
    assert (partition.partition_index, partition.start_offset) == (0, 3)


def _offsets_altered(message: Any, group: str, topic: str, frame: Golden) -> None:
    (altered,) = message.responses
    (partition,) = altered.partitions
    assert (message.error_code, altered.topic_name) == (ErrorCode.NONE, topic)
    assert altered.topic_id is not None
    assert (partition.partition_index, partition.error_code, partition.error_message) == (0, ErrorCode.NONE, None)


def _delete_offsets(message: Any, group: str, topic: str, frame: Golden) -> None:
    assert message.group_id == group
    assert [deleted.topic_name for deleted in message.topics] == [topic]


def _offsets_deleted(message: Any, group: str, topic: str, frame: Golden) -> None:
    (deleted,) = message.responses
    assert (message.error_code, deleted.topic_name, deleted.error_code) == (ErrorCode.NONE, topic, ErrorCode.NONE)
    assert deleted.topic_id is not None


def _refused(message: Any, group: str, topic: str, frame: Golden) -> None:
    assert message.error_code is ErrorCode.NON_EMPTY_GROUP
    assert message.error_message


STATE_MEANINGS: Mapping[str, Callable[[Any, str, str, Golden], None]] = {
    "initialised": _succeeded, "initialise-fenced": _fenced, "written": _succeeded, "write-fenced": _fenced,
    "read": _read, "read-fenced": _read_fenced, "summary": _summary, "deleted": _succeeded,
    "alter-offsets": _alter_offsets, "offsets-altered": _offsets_altered, "alter-offsets-refused": _refused,
    "delete-offsets": _delete_offsets, "offsets-deleted": _offsets_deleted, "delete-offsets-refused": _refused,
}  # fmt: skip
"""Name of a frame → check of what it says."""
