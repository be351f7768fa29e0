"""Offsets that are committed from outside of a group: what is stored, returned, forgotten and refused."""

from typing import Any
from uuid import UUID

import pytest

from kafka_groups.protocol.coordinator_records.consumer_offsets import CONSUMER_OFFSETS
from kafka_groups.protocol.coordinator_records.offsets import OffsetCommit, OffsetCommitValue
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_groups.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_groups.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kafka_groups.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from kafka_groups.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponseGroup,
)
from kafka_groups.protocol.record_batch import iter_batches
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.listed_groups import listed_groups
from tests.support.requests.raw_client import RawClient
from tests.support.targets import Target, everywhere

NEWEST_WITH_NAMES, WITH_IDS = 9, 10
WITH_RETENTION = 4
LATEST_MS = 2**63 - 1
NOWHERE = UUID(int=12345)


class Offsets:
    """A group's offsets, and the connection that asks for them."""

    def __init__(self, client: RawClient, group_id: str) -> None:
        self._client = client
        self.group_id = group_id

    async def commit(
        self, topic: Topic, offsets: dict[int, int], version: int = NEWEST_WITH_NAMES, **fields: Any
    ) -> dict[int, str]:
        """Commit offsets; returns the names of the errors."""
        request = self.request(topic, offsets, **fields)
        return self.errors(await self._client.ask(request, version))

    def request(
        self, topic: Topic, offsets: dict[int, int], metadata: str | None = "m", **fields: Any
    ) -> OffsetCommitRequest:
        partitions = tuple(
            OffsetCommitRequestPartition(
                partition_index=index, committed_offset=offset, committed_leader_epoch=0, committed_metadata=metadata
            )
            for index, offset in offsets.items()
        )
        named = OffsetCommitRequestTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions)
        return OffsetCommitRequest(group_id=self.group_id, topics=(named,), **fields)

    @staticmethod
    def errors(response: OffsetCommitResponse) -> dict[int, str]:
        """The names of errors by partition."""
        return {each.partition_index: each.error_code.name for topic in response.topics for each in topic.partitions}

    async def fetch(
        self,
        topic: Topic | None,
        indexes: tuple[int, ...] = (0, 1),
        version: int = NEWEST_WITH_NAMES,
        *,
        require_stable: bool = False,
    ) -> OffsetFetchResponseGroup:
        """The group's offsets of a topic, or all."""
        topics = None
        if topic is not None:
            topics = (OffsetFetchRequestTopic(name=topic.name, topic_id=topic.topic_id, partition_indexes=indexes),)
        group = OffsetFetchRequestGroup(group_id=self.group_id, topics=topics)
        if version >= 8:
            request = OffsetFetchRequest(groups=(group,), require_stable=require_stable)
            [found] = (await self._client.ask(request, version)).groups
            assert isinstance(found, OffsetFetchResponseGroup)
            return found
        response = await self._client.ask(OffsetFetchRequest(group_id=self.group_id, topics=topics), version)
        return OffsetFetchResponseGroup(group_id=self.group_id, topics=response.topics, error_code=response.error_code)

    async def offsets(self, topic: Topic, indexes: tuple[int, ...] = (0, 1)) -> dict[int, int]:
        """Committed offsets by partition."""
        return offsets_of(await self.fetch(topic, indexes))

    async def delete(self, topic: str, *indexes: int) -> OffsetDeleteResponse:
        """Delete offsets."""
        partitions = tuple(OffsetDeleteRequestPartition(partition_index=index) for index in indexes)
        topics = (OffsetDeleteRequestTopic(name=topic, partitions=partitions),)
        response = await self._client.ask(OffsetDeleteRequest(group_id=self.group_id, topics=topics))
        assert isinstance(response, OffsetDeleteResponse)
        return response

    async def delete_group(self) -> str:
        """Delete the group; returns the name of the error."""
        [result] = (await self._client.ask(DeleteGroupsRequest(groups_names=(self.group_id,)))).results
        return str(result.error_code.name)

    async def listed(self) -> list[tuple[str, str, str]]:
        """How ListGroups shows the group: type, protocol type and state."""
        groups = await listed_groups(self._client)
        found = [group for group in groups if group.group_id == self.group_id]
        return [(group.group_type, group.protocol_type, group.group_state) for group in found]


def offsets_of(group: OffsetFetchResponseGroup) -> dict[int, int]:
    """Offsets by partition, of a response without errors."""
    assert group.error_code is ErrorCode.NONE
    partitions = [each for topic in group.topics for each in topic.partitions]
    assert {each.error_code for each in partitions} <= {ErrorCode.NONE}
    return {each.partition_index: each.committed_offset for each in partitions}


async def new_offsets(target: Target, group_id: str | None = None) -> Offsets:
    group_id = unique("group") if group_id is None else group_id
    await target.cluster.coordinator_of(group_id)
    return Offsets(target.client(), group_id)


@everywhere
async def test_a_commit_from_outside_makes_a_group(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    group = await new_offsets(target)
    assert await group.offsets(topic) == {0: -1, 1: -1}
    assert await group.listed() == []
    assert await group.commit(topic, {0: 7, 1: 9}) == {0: "NONE", 1: "NONE"}
    assert await group.commit(topic, {0: 5}) == {0: "NONE"}, "offsets may go back"
    assert await group.offsets(topic, (0, 1, 2)) == {0: 5, 1: 9, 2: -1}
    assert await group.listed() == [("classic", "", "Empty")]
    assert await group.delete_group() == "NONE"
    assert await group.offsets(topic) == {0: -1, 1: -1}
    assert await group.delete_group() == "GROUP_ID_NOT_FOUND"


@everywhere
@pytest.mark.parametrize("version", range(2, 11))
async def test_every_version_commits(target: Target, version: int) -> None:
    topic = await target.cluster.create_topic(1)
    group = await new_offsets(target)
    assert await group.commit(topic, {0: 7}, version) == {0: "NONE"}
    [fetched] = (await group.fetch(topic, (0,))).topics[0].partitions
    assert (fetched.committed_offset, fetched.metadata) == (7, "m")
    assert fetched.committed_leader_epoch == (0 if version >= 6 else -1)


@everywhere
@pytest.mark.parametrize("version", range(1, 11))
async def test_every_version_fetches(target: Target, version: int) -> None:
    topic = await target.cluster.create_topic(2)
    group = await new_offsets(target)
    await group.commit(topic, {0: 7}, metadata=None)
    found = await group.fetch(topic, (0, 1), version)
    assert offsets_of(found) == {0: 7, 1: -1}
    assert [each.metadata for each in found.topics[0].partitions] == ["", ""]
    if version >= 2:
        assert offsets_of(await group.fetch(None, version=version)) == {0: 7}


@everywhere
async def test_an_unknown_topic_or_partition_is_an_error_of_the_commit_alone(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    group = await new_offsets(target)
    nowhere = Topic(unique("nowhere"), NOWHERE)
    unknown = "UNKNOWN_TOPIC_OR_PARTITION"
    assert await group.commit(topic, {0: 1, 1: 2, -1: 3}) == {0: "NONE", 1: unknown, -1: unknown}
    assert await group.commit(nowhere, {0: 1}) == {0: unknown}
    assert await group.commit(nowhere, {0: 1}, WITH_IDS) == {0: "UNKNOWN_TOPIC_ID"}
    assert await group.offsets(nowhere, (0,)) == {0: -1}
    [refused] = (await group.fetch(nowhere, (0,), WITH_IDS)).topics[0].partitions
    assert (refused.error_code.name, refused.committed_offset) == ("UNKNOWN_TOPIC_ID", -1)


@everywhere
async def test_long_metadata_is_refused(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    group = await new_offsets(target)
    assert await group.commit(topic, {0: 1}, metadata="m" * 4_096) == {0: "NONE"}
    assert await group.commit(topic, {0: 2}, metadata="m" * 4_097) == {0: "OFFSET_METADATA_TOO_LARGE"}
    assert await group.offsets(topic, (0,)) == {0: 1}


@everywhere
@pytest.mark.parametrize(("version", "error"), [(8, "ILLEGAL_GENERATION"), (9, "GROUP_ID_NOT_FOUND")])
async def test_a_member_cannot_commit_for_a_group_that_does_not_exist(target: Target, version: int, error: str) -> None:
    topic = await target.cluster.create_topic(1)
    group = await new_offsets(target)
    fields: dict[str, Any] = {"generation_id_or_member_epoch": 3, "member_id": "ann"}
    assert await group.commit(topic, {0: 1}, version, **fields) == {0: error}
    assert await group.listed() == []


@everywhere
async def test_a_member_cannot_commit_for_a_group_without_members(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    group = await new_offsets(target)
    await group.commit(topic, {0: 1})
    fields: dict[str, Any] = {"generation_id_or_member_epoch": 3, "member_id": "ann"}
    assert await group.commit(topic, {0: 2}, **fields) == {0: "UNKNOWN_MEMBER_ID"}
    static = {**fields, "group_instance_id": "i"}
    assert await group.commit(topic, {0: 2}, **static) == {0: "UNKNOWN_MEMBER_ID"}
    assert await group.commit(topic, {0: 2}, member_id="ann") == {0: "NONE"}, "as in Kafka: there is no generation"


@everywhere
async def test_the_empty_group_id_is_one(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    group = await new_offsets(target, "")
    assert await group.commit(topic, {0: 4}) == {0: "NONE"}
    assert await group.offsets(topic, (0,)) == {0: 4}
    assert (await group.delete(topic.name, 0)).error_code.name == "INVALID_GROUP_ID"
    assert await group.delete_group() == "NONE"


@everywhere
async def test_deleted_offsets_are_gone(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    group = await new_offsets(target)
    assert (await group.delete(topic.name, 0)).error_code.name == "GROUP_ID_NOT_FOUND"
    await group.commit(topic, {0: 1, 1: 2})
    deleted = await group.delete(topic.name, 0, 2)
    assert deleted.error_code is ErrorCode.NONE
    [of_topic] = deleted.topics
    found = {each.partition_index: each.error_code.name for each in of_topic.partitions}
    assert found == {0: "NONE", 2: "UNKNOWN_TOPIC_OR_PARTITION"}
    assert await group.offsets(topic) == {0: -1, 1: 2}
    [of_topic] = (await group.delete(unique("nowhere"), 0)).topics
    assert of_topic.partitions[0].error_code.name == "UNKNOWN_TOPIC_OR_PARTITION"
    assert [each.error_code.name for each in (await group.delete(topic.name, 0)).topics[0].partitions] == ["NONE"]


@everywhere
async def test_offsets_go_with_their_topic(target: Target) -> None:
    topic, other = await target.cluster.create_topic(1), await target.cluster.create_topic(1)
    group = await new_offsets(target)
    await group.commit(topic, {0: 1})
    await group.commit(other, {0: 2})
    await target.cluster.delete_topic(topic)
    found = await until(lambda: group.fetch(None), lambda it: len(it.topics) == 1)
    assert [each.name for each in found.topics] == [other.name]


@everywhere
async def test_a_share_group_commits_no_offsets(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    group = await new_offsets(target, await target.group_of(topic))
    assert await group.commit(topic, {0: 1}) == {0: "GROUP_ID_NOT_FOUND"}
    assert await group.offsets(topic, (0,)) == {0: -1}
    assert (await group.delete(topic.name, 0)).error_code.name == "GROUP_ID_NOT_FOUND"


@everywhere
async def test_a_group_with_offsets_is_no_share_group(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    group = await new_offsets(target)
    await group.commit(topic, {0: 1})
    member = target.member(group.group_id, topic)
    response = await member.join()
    assert response.error_code.name == "GROUP_ID_NOT_FOUND"
    assert await group.offsets(topic, (0,)) == {0: 1}


@everywhere
@pytest.mark.parametrize("retention_ms", [0, 1, LATEST_MS - 10**15, LATEST_MS, -LATEST_MS - 1])
@pytest.mark.parametrize("version", [2, 3, WITH_RETENTION])
async def test_any_retention_of_an_offset_is_stored(target: Target, version: int, retention_ms: int) -> None:
    topic = await target.cluster.create_topic()
    offsets = Offsets(target.client(), await target.new_group())
    assert await offsets.commit(topic, {0: 7}, version, retention_time_ms=retention_ms) == {0: "NONE"}
    stored = await stored_offset(target, offsets.group_id)
    lasts_ms = stored.expire_timestamp_ms - stored.commit_timestamp_ms
    assert lasts_ms in (retention_ms, retention_ms - 2**64, retention_ms + 2**64)
    assert -LATEST_MS - 1 <= stored.expire_timestamp_ms <= LATEST_MS


async def stored_offset(target: Target, group_id: str) -> OffsetCommitValue:
    """The only offset of a group in the internal topic, which has one partition."""
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=2**28)
    topics = (FetchTopic(topic=CONSUMER_OFFSETS.topic, partitions=(partition,)),)
    response = await target.client().ask(FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=2**28, topics=topics), 12)
    batches = [each for each in iter_batches(response.responses[0].partitions[0].records) if not each.header.is_control]
    records = [CONSUMER_OFFSETS.decode(each.key or b"", each.value) for batch in batches for each in batch.records()]
    [value] = [each.value for each in records if type(each) is OffsetCommit and each.group == group_id]
    assert isinstance(value, OffsetCommitValue)
    return value
