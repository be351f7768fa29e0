"""Topics, committed records and committed offsets of a cluster of any release, through questions of our own client."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Self

from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.client import admin_client
from kafka_groups.client.calls.partition_offsets import by_topic
from kafka_groups.client.calls.questions import COORDINATORS, LEADERS, Answer, Question, told
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.errors import UnknownTopicOrPartitionError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafka_groups.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_groups.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from kafka_groups.protocol.messages.update_features import UNSAFE_DOWNGRADE, FeatureUpdateKey, UpdateFeaturesRequest
from kafka_groups.protocol.record_batch import iter_batches
from kafka_groups.types import OffsetAndMetadata, TopicPartition
from tests.support.conditions import until

__all__ = ["NegotiatedCluster"]

_TIMEOUT_MS = 20_000
_COMMITTED = 1
_WITH_NAMES, _FETCH_WITH_NAMES = 9, 12
_PARTITION_BYTES = 1_048_576


class NegotiatedCluster:
    """What a test does beside its producers. Use it as a context manager.

    Args:
        servers: `host:port` of brokers, separated by commas.
        environment: The way to it.
    """

    def __init__(self, servers: str, environment: Environment) -> None:
        self._client = admin_client(admin_config(bootstrap_servers=servers), environment)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    async def create_topic(self, name: str, partitions: int = 1) -> None:
        """Create a topic, and wait until a broker knows it: the controller answers before that."""
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        request = CreateTopicsRequest(topics=(topic,), timeout_ms=_TIMEOUT_MS)
        await self._ask("create a topic", ApiKey.CREATE_TOPICS, request, lambda it: it.topics[0].error_code)
        await until(partial(self._knows, name), bool, _TIMEOUT_MS / 1_000)

    async def _knows(self, name: str) -> bool:
        looked_for = MetadataRequest(topics=(MetadataRequestTopic(name=name),), allow_auto_topic_creation=False)
        try:
            await self._ask("find a topic", ApiKey.METADATA, looked_for, lambda it: it.topics[0].error_code)
        except UnknownTopicOrPartitionError:
            return False
        return True

    async def finalise(self, feature: str, level: int, kind: int = UNSAFE_DOWNGRADE) -> None:
        """Set the level of a feature."""
        update = FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=kind)
        request = UpdateFeaturesRequest(feature_updates=(update,), timeout_ms=_TIMEOUT_MS)
        await self._ask("set a feature", ApiKey.UPDATE_FEATURES, request, lambda it: it.error_code)

    async def _ask(self, what: str, api: ApiKey, request: object, code_in: Any) -> None:
        def read(keys: Sequence[str], response: Any) -> Mapping[str, Any]:
            code = code_in(response)
            return {key: told(code, f"{what}: {code.name}", None) for key in keys}

        question = Question(what, api, ("",), lambda _keys, _version: request, read)
        (await self._client.within(_TIMEOUT_MS)(question)).checked()

    async def committed(self, *partitions: TopicPartition) -> list[bytes]:
        """The values of committed records in these partitions, as far as they are stable."""
        found = (await self._client.within(_TIMEOUT_MS)(_fetching(partitions))).checked()
        return [value for each in partitions for value in _values(found[each])]

    async def offsets(self, group_id: str) -> dict[TopicPartition, OffsetAndMetadata]:
        """The committed offsets of a group, without those of open transactions."""
        request = OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=group_id, topics=None),))

        def read(keys: Sequence[str], response: OffsetFetchResponse) -> Mapping[str, Any]:
            (group,) = response.groups
            return {key: told(group.error_code, group.error_code.name, group) for key in keys}

        question = Question(
            "fetch offsets",
            ApiKey.OFFSET_FETCH,
            (group_id,),
            lambda _keys, _version: request,
            read,
            COORDINATORS,
            newest_version=_WITH_NAMES,
        )
        group = (await self._client.within(_TIMEOUT_MS)(question))[group_id]
        return {
            TopicPartition(topic.name, each.partition_index): OffsetAndMetadata(
                each.committed_offset,
                None if each.committed_leader_epoch < 0 else each.committed_leader_epoch,
                each.metadata or "",
            )
            for topic in group.topics
            for each in topic.partitions
        }


def _fetching(partitions: tuple[TopicPartition, ...]) -> Question[TopicPartition, PartitionData]:
    def build(keys: Sequence[TopicPartition], _version: int) -> FetchRequest:
        topics = tuple(
            FetchTopic(
                topic=topic,
                partitions=tuple(
                    FetchPartition(partition=each, fetch_offset=0, partition_max_bytes=_PARTITION_BYTES)
                    for each in numbers
                ),
            )
            for topic, numbers in by_topic(keys).items()
        )
        return FetchRequest(max_wait_ms=0, min_bytes=1, isolation_level=_COMMITTED, topics=topics)

    return Question("fetch", ApiKey.FETCH, partitions, build, _fetched, LEADERS, newest_version=_FETCH_WITH_NAMES)


def _fetched(
    _keys: Sequence[TopicPartition], response: FetchResponse
) -> Mapping[TopicPartition, Answer[PartitionData]]:
    return {
        (key := TopicPartition(topic.topic, each.partition_index)): told(
            each.error_code, f"{each.error_code.name}: {key}", each
        )
        for topic in response.responses
        for each in topic.partitions
    }


def _values(data: PartitionData) -> list[bytes]:
    coming = [(each.first_offset, each.producer_id) for each in data.aborted_transactions or ()]
    aborted: set[int] = set()
    values: list[bytes] = []
    for batch in iter_batches(data.records):
        header = batch.header
        aborted |= {producer_id for offset, producer_id in coming if offset == header.base_offset}
        if header.is_control:
            aborted.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in aborted):
            values += [record.value or b"" for record in batch.records()]
    return values
