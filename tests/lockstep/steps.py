"""What a run consists of: requests as plain values, which name topics, groups and members of the run.

A step makes its request anew for each cluster, as epochs are counted and ids of topics differ there. A run is a list of
steps, and every sublist of it is a run too, which is what shrinking needs.
"""

from collections.abc import Iterable
from typing import Any, Protocol

import attrs
from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafka_groups.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafka_groups.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_groups.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafka_groups.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafka_groups.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafka_groups.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kafka_groups.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafka_groups.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafka_groups.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_groups.protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from kafka_groups.protocol.messages.share_fetch import (
    ShareFetchPartition,
    ShareFetchRequest,
    ShareFetchTopic,
    ShareForgottenTopic,
)
from kafka_groups.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from tests.lockstep.side import Side
from tests.support.cluster_client import GROUP_RESOURCE
from tests.support.members.raw_member import AT_ONCE, Limits

TIMEOUT_MS = 15_000
GROUP = "g"
CLOSE = LEAVE = -1

Place = tuple[str, int]
"""A topic by its name in the run, and a partition."""


class Step(Protocol):
    """One request.

    Attributes:
        by: Whose connection it takes.
        version: The version of the API; None is the newest one of the release.
        is_question: It changes nothing, so it may be asked until both answers are the same.
    """

    @property
    def by(self) -> str: ...
    @property
    def version(self) -> int | None: ...
    @property
    def is_question(self) -> bool: ...
    def request(self, side: Side) -> Any:
        """The request as this cluster must get it."""

    def note(self, side: Side, response: Any) -> None:
        """Remember what the answer says."""


@frozen(kw_only=True, repr=False)
class Change:
    """A step that changes something and whose answer tells nothing that later steps need."""

    by: str = "admin"
    version: int | None = None
    is_question: bool = False

    def note(self, side: Side, response: Any) -> None:
        """Nothing to remember."""

    def __repr__(self) -> str:
        """As Python would make it, without what is as usual."""
        return _sparse(self)


@frozen(kw_only=True, repr=False)
class Question(Change):
    """A step that changes nothing."""

    is_question: bool = True


def _sparse(value: Any) -> str:
    if not attrs.has(type(value)):
        return (
            f"({''.join(_sparse(each) + ', ' for each in value).strip()})" if isinstance(value, tuple) else repr(value)
        )
    given = ((each.name, getattr(value, each.name), each.default) for each in attrs.fields(type(value)))
    told = (f"{name}={_sparse(content)}" for name, content, default in given if content != default)
    return f"{type(value).__name__}({', '.join(told)})"


# ------------------------------------------------------------------------------------------------ membership


@frozen(kw_only=True, repr=False)
class Heartbeat(Change):
    """ShareGroupHeartbeat: the epoch counted so far plus `shift`, unless one is given."""

    epoch: int | None = None
    shift: int = 0
    topics: tuple[str, ...] | None = None
    rack: str | None = None
    group: str = GROUP

    def request(self, side: Side) -> Any:
        """The heartbeat."""
        member = side.member(self.by)
        return ShareGroupHeartbeatRequest(
            group_id=side.group_id(self.group),
            member_id=member.member_id,
            member_epoch=member.epoch + self.shift if self.epoch is None else self.epoch,
            rack_id=self.rack,
            subscribed_topic_names=None if self.topics is None else tuple(map(side.topic_name, self.topics)),
        )

    def note(self, side: Side, response: Any) -> None:
        """The epoch of a good answer is the member's."""
        member = side.member(self.by)
        if response.error_code is ErrorCode.NONE:
            member.epoch = max(response.member_epoch, 0)
            member.topics = member.topics if self.topics is None else self.topics


# -------------------------------------------------------------------------------------------- share sessions


@frozen
class Acknowledged:
    """A range of offsets and one type for all, or one for each."""

    place: Place
    first: int
    last: int
    types: tuple[int, ...]

    def batch(self) -> AcknowledgementBatch:
        """As in a request."""
        return AcknowledgementBatch(first_offset=self.first, last_offset=self.last, acknowledge_types=self.types)


@frozen(kw_only=True, repr=False)
class InSession(Change):
    """A request of a share session: the epoch counted so far plus `shift`, unless one is given."""

    epoch: int | None = None
    shift: int = 0
    acknowledgements: tuple[Acknowledged, ...] = ()
    is_renew: bool = False

    def session_epoch(self, side: Side) -> int:
        """The epoch to send."""
        return side.member(self.by).session_epoch + self.shift if self.epoch is None else self.epoch

    def note(self, side: Side, response: Any) -> None:
        """Count the epoch on, as a client does."""
        member, sent = side.member(self.by), self.session_epoch(side)
        if response.error_code is ErrorCode.NONE:
            member.session_epoch = 0 if sent == CLOSE else sent + 1
        elif response.error_code in (ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH):
            member.session_epoch = 0 if self.shift == 0 and self.epoch is None else member.session_epoch


@frozen(kw_only=True, repr=False)
class Fetch(InSession):
    """ShareFetch."""

    places: tuple[Place, ...] = ()
    forgotten: tuple[Place, ...] = ()
    limits: Limits = AT_ONCE

    def request(self, side: Side) -> Any:
        """The fetch."""
        limits = self.limits
        return ShareFetchRequest(
            group_id=side.group_id(GROUP),
            member_id=side.member(self.by).member_id,
            share_session_epoch=self.session_epoch(side),
            max_wait_ms=limits.max_wait_ms,
            min_bytes=limits.min_bytes,
            max_bytes=limits.max_bytes,
            max_records=limits.max_records,
            batch_size=limits.batch_size,
            share_acquire_mode=int(limits.record_limit),
            is_renew_ack=self.is_renew,
            topics=tuple(
                ShareFetchTopic(topic_id=side.topic_id(name), partitions=tuple(partitions))
                for name, partitions in self._partitions()
            ),
            forgotten_topics_data=tuple(
                ShareForgottenTopic(topic_id=side.topic_id(name), partitions=(partition,))
                for name, partition in self.forgotten
            ),
        )

    def _partitions(self) -> Iterable[tuple[str, list[ShareFetchPartition]]]:
        by_topic: dict[str, list[ShareFetchPartition]] = {}
        for place, batches in _by_place(self.places, self.acknowledgements).items():
            by_topic.setdefault(place[0], []).append(
                ShareFetchPartition(partition_index=place[1], acknowledgement_batches=batches)
            )
        return by_topic.items()


@frozen(kw_only=True, repr=False)
class Acknowledge(InSession):
    """ShareAcknowledge."""

    def request(self, side: Side) -> Any:
        """The acknowledgements."""
        by_topic: dict[str, list[AcknowledgePartition]] = {}
        for (name, partition), batches in _by_place((), self.acknowledgements).items():
            by_topic.setdefault(name, []).append(
                AcknowledgePartition(partition_index=partition, acknowledgement_batches=batches)
            )
        return ShareAcknowledgeRequest(
            group_id=side.group_id(GROUP),
            member_id=side.member(self.by).member_id,
            share_session_epoch=self.session_epoch(side),
            is_renew_ack=self.is_renew,
            topics=tuple(
                AcknowledgeTopic(topic_id=side.topic_id(name), partitions=tuple(partitions))
                for name, partitions in by_topic.items()
            ),
        )


def _by_place(
    places: Iterable[Place], acknowledgements: Iterable[Acknowledged]
) -> dict[Place, tuple[AcknowledgementBatch, ...]]:
    grouped: dict[Place, list[AcknowledgementBatch]] = {place: [] for place in places}
    for given in acknowledgements:
        grouped.setdefault(given.place, []).append(given.batch())
    return {place: tuple(batches) for place, batches in grouped.items()}


# ----------------------------------------------------------------------------------- records, topics, configs


@frozen(kw_only=True, repr=False)
class Produce(Change):
    """Produce: one batch of so many records, with timestamps from `first_ms` on."""

    place: Place
    count: int
    first_ms: int = 1_700_000_000_000

    def request(self, side: Side) -> Any:
        """The batch, with values that tell where it went."""
        values = (f"{self.place} {index}".encode() for index in range(self.count))
        records = [NewRecord(value, timestamp_ms=self.first_ms + index) for index, value in enumerate(values)]
        data = PartitionProduceData(index=self.place[1], records=build_batch(records))
        topic = TopicProduceData(topic_id=side.topic_id(self.place[0]), partition_data=(data,))
        return ProduceRequest(acks=-1, timeout_ms=TIMEOUT_MS, topic_data=(topic,))


@frozen(kw_only=True, repr=False)
class DeleteRecords(Change):
    """DeleteRecords: everything before an offset."""

    place: Place
    offset: int

    def request(self, side: Side) -> Any:
        """The request."""
        partition = DeleteRecordsPartition(partition_index=self.place[1], offset=self.offset)
        topic = DeleteRecordsTopic(name=side.topic_name(self.place[0]), partitions=(partition,))
        return DeleteRecordsRequest(topics=(topic,), timeout_ms=TIMEOUT_MS)


@frozen(kw_only=True, repr=False)
class AddPartitions(Change):
    """CreatePartitions."""

    topic: str
    count: int

    def request(self, side: Side) -> Any:
        """The request."""
        grown = CreatePartitionsTopic(name=side.topic_name(self.topic), count=self.count, assignments=None)
        return CreatePartitionsRequest(topics=(grown,), timeout_ms=TIMEOUT_MS, validate_only=False)


@frozen(kw_only=True, repr=False)
class CreateTopic(Change):
    """CreateTopics."""

    topic: str
    partitions: int

    def request(self, side: Side) -> Any:
        """The request."""
        name = side.topic_name(self.topic)
        topic = CreatableTopic(name=name, num_partitions=self.partitions, replication_factor=1)
        return CreateTopicsRequest(topics=(topic,), timeout_ms=TIMEOUT_MS)

    def note(self, side: Side, response: Any) -> None:
        """The id of the new topic."""
        if response.topics[0].error_code is ErrorCode.NONE:
            side.created(self.topic, response.topics[0].topic_id)


@frozen(kw_only=True, repr=False)
class DeleteTopic(Change):
    """DeleteTopics; sessions that have the topic keep asking for its id."""

    topic: str

    def request(self, side: Side) -> Any:
        """The request."""
        state = DeleteTopicState(name=side.topic_name(self.topic))
        return DeleteTopicsRequest(topics=(state,), timeout_ms=TIMEOUT_MS)


@frozen(kw_only=True, repr=False)
class AlterGroupConfig(Change):
    """IncrementalAlterConfigs of the group; a value of None deletes the config."""

    name: str
    value: str | None

    def request(self, side: Side) -> Any:
        """The request."""
        change = AlterableConfig(name=self.name, config_operation=int(self.value is None), value=self.value)
        resource = AlterConfigsResource(
            resource_type=GROUP_RESOURCE, resource_name=side.group_id(GROUP), configs=(change,)
        )
        return IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)


@frozen(kw_only=True, repr=False)
class DeleteGroup(Change):
    """DeleteGroups."""

    group: str = GROUP

    def request(self, side: Side) -> Any:
        """The request."""
        return DeleteGroupsRequest(groups_names=(side.group_id(self.group),))


# --------------------------------------------------------------------------------------------------- questions


@frozen(kw_only=True, repr=False)
class DescribeGroup(Question):
    """ShareGroupDescribe."""

    group: str = GROUP

    def request(self, side: Side) -> Any:
        """The request."""
        return ShareGroupDescribeRequest(group_ids=(side.group_id(self.group),), include_authorized_operations=False)


@frozen(kw_only=True, repr=False)
class DescribeOffsets(Question):
    """DescribeShareGroupOffsets of everything that the group has state for."""

    group: str = GROUP

    def request(self, side: Side) -> Any:
        """The request."""
        wanted = DescribeShareGroupOffsetsRequestGroup(group_id=side.group_id(self.group), topics=None)
        return DescribeShareGroupOffsetsRequest(groups=(wanted,))


@frozen(kw_only=True, repr=False)
class DescribeGroupConfigs(Question):
    """DescribeConfigs of the group, or of some of its names."""

    names: tuple[str, ...] | None = None

    def request(self, side: Side) -> Any:
        """The request."""
        resource = DescribeConfigsResource(
            resource_type=GROUP_RESOURCE, resource_name=side.group_id(GROUP), configuration_keys=self.names
        )
        return DescribeConfigsRequest(resources=(resource,))


@frozen(kw_only=True, repr=False)
class ListOffsets(Question):
    """ListOffsets."""

    place: Place
    timestamp: int

    def request(self, side: Side) -> Any:
        """The request."""
        partition = ListOffsetsPartition(partition_index=self.place[1], timestamp=self.timestamp)
        topic = ListOffsetsTopic(name=side.topic_name(self.place[0]), partitions=(partition,))
        return ListOffsetsRequest(topics=(topic,), timeout_ms=TIMEOUT_MS)


async def take(side: Side, step: Step) -> Any:
    """Take a step on one cluster, remember what the answer says, and return it."""
    request = step.request(side)
    version = side.newest(request) if step.version is None else step.version
    response = await side.client(step.by).ask(request, version)
    step.note(side, response)
    return response
