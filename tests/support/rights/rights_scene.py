"""The cluster that requests about rights are sent to: topics, groups with live members, and a transactional id."""

import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import UUID

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from kafka_groups.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_groups.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kafka_groups.protocol.messages.find_coordinator import CoordinatorType, FindCoordinatorRequest
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponseTopic
from kafka_groups.protocol.messages.share_fetch import ShareFetchPartition, ShareFetchRequest, ShareFetchTopic
from kafka_groups.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatTopology,
)
from kafka_groups.protocol.messages.streams_group_parts import StreamsSubtopology
from kafka_groups.types import member_id_of, random_uuid
from tests.support.conditions import until

__all__ = ["RightsScene"]

Ask = Callable[..., Awaitable[Any]]

_TIMEOUT_MS = 15_000
_REBALANCE_MS = 30_000
_JOIN = 0
_LAST_OF_PRODUCERS = 3
TOPICS = ("orders", "posts", "secret")


class RightsScene:
    """The cluster, prepared by a super user.

    Args:
        ask: Sends a request of the super user, in the newest version or in a given one.

    Attributes:
        placeholders: What the texts in angle brackets stand for.
        member_ids: The ids of members, which error texts may contain.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._rng = random.Random(11)
        self._epochs: dict[str, int] = {}
        self.member_ids = {group: self._new_id() for group in ("sg", "cg", "stg")}
        self.placeholders: dict[str, object] = {
            "<unknown id>": random_uuid(self._rng),
            "<member of stg>": self.member_ids["stg"],
        }

    @property
    def ids(self) -> tuple[str, ...]:
        """All ids of members so far."""
        return (*self.member_ids.values(), str(self.placeholders.get("<new member>", "<new member>")))

    async def prepare(self) -> None:
        """Make topics, coordinators, groups and the transactional id."""
        for topic in TOPICS:
            await self.create_topic(topic, 2)
        for kind, key in self._coordinators().items():
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=(key,))
            await self._until(request, lambda found: found.coordinators[0].error_code)
        await self._until(InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=60_000))
        for group in self.member_ids:
            await self._until(self._beat(group, _JOIN))
        await until(self._has_partitions, bool)

    async def _has_partitions(self) -> bool:
        """Return whether the member of the share group has what it gets once the states are initialised."""
        await self.beat()
        described = await self._ask(ShareGroupDescribeRequest(group_ids=("sg",), include_authorized_operations=False))
        return bool(described.groups[0].members[0].assignment.topic_partitions)

    def _coordinators(self) -> Mapping[int, str]:
        share_key = f"sg:{member_id_of(self.topic_id('orders'))}:0"
        return {CoordinatorType.GROUP: "g", CoordinatorType.TRANSACTION: "tx", CoordinatorType.SHARE: share_key}

    def topic_id(self, topic: str) -> UUID:
        """The id of a topic that was created."""
        found = self.placeholders[f"<id of {topic}>"]
        assert isinstance(found, UUID)
        return found

    async def beat(self) -> None:
        """Keep the members alive."""
        for group, epoch in tuple(self._epochs.items()):
            await self._until(self._beat(group, epoch))

    async def before(self, name: str) -> None:
        """Prepare what one entry needs."""
        self.placeholders["<new member>"] = self._new_id()
        await self.beat()
        if name in ("DeleteTopics by name", "DeleteTopics by id"):
            await self.create_topic("doomed", 1)
        if name == "ShareAcknowledge":
            await self._until(self._opening_fetch())
        if name == "DescribeTransactions, open transaction":
            await self._begin_transaction("tx3")

    async def _begin_transaction(self, transactional_id: str) -> None:
        request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
        begun = await until(lambda: self._ask(request), lambda it: it.error_code is ErrorCode.NONE)
        adding = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=begun.producer_id,
            v3_and_below_producer_epoch=begun.producer_epoch,
            v3_and_below_topics=(AddPartitionsToTxnTopic(name="orders", partitions=(0,)),),
        )
        added = await self._ask(adding, _LAST_OF_PRODUCERS)
        assert not added.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code, added

    def _new_id(self) -> str:
        return member_id_of(random_uuid(self._rng))

    async def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic, and wait until the broker leads its partitions."""
        # The records are from 1970. A real Kafka would delete them half a minute after its start.
        kept = CreatableTopicConfig(name="retention.ms", value="-1")
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=(kept,))
        response = await self._ask(CreateTopicsRequest(topics=(topic,), timeout_ms=_TIMEOUT_MS))
        assert response.topics[0].error_code is ErrorCode.NONE, response
        named = MetadataRequest(topics=(MetadataRequestTopic(name=name),), allow_auto_topic_creation=False)
        described = await until(
            lambda: self._ask(named),
            lambda it: (
                len(it.topics[0].partitions) == partitions and all(p.leader_id >= 0 for p in it.topics[0].partitions)
            ),
        )
        self.placeholders[f"<id of {name}>"] = described.topics[0].topic_id

    async def _until(
        self, request: Any, code: Callable[[Any], ErrorCode] = lambda response: response.error_code
    ) -> None:
        response = await until(lambda: self._ask(request), lambda it: code(it) is ErrorCode.NONE)
        group = getattr(request, "group_id", None)
        if group in self.member_ids and hasattr(response, "member_epoch"):
            self._epochs[group] = response.member_epoch

    def _beat(self, group: str, epoch: int) -> Any:
        member, is_new = self.member_ids[group], epoch == _JOIN
        names = ("orders",) if is_new else None
        if group == "sg":
            return ShareGroupHeartbeatRequest(
                group_id=group, member_id=member, member_epoch=epoch, subscribed_topic_names=names
            )
        if group == "cg":
            return ConsumerGroupHeartbeatRequest(
                group_id=group,
                member_id=member,
                member_epoch=epoch,
                rebalance_timeout_ms=_REBALANCE_MS if is_new else -1,
                subscribed_topic_names=names,
                topic_partitions=() if is_new else None,
            )
        reading = StreamsSubtopology(subtopology_id="0", source_topics=("orders",))
        nothing = () if is_new else None
        return StreamsGroupHeartbeatRequest(
            group_id=group,
            member_id=member,
            member_epoch=epoch,
            rebalance_timeout_ms=_REBALANCE_MS if is_new else -1,
            topology=StreamsGroupHeartbeatTopology(epoch=0, subtopologies=(reading,)) if is_new else None,
            active_tasks=nothing,
            standby_tasks=nothing,
            warmup_tasks=nothing,
            process_id="p" if is_new else None,
            client_tags=nothing,
        )

    def _opening_fetch(self) -> ShareFetchRequest:
        partitions = (ShareFetchPartition(partition_index=0),)
        return ShareFetchRequest(
            group_id="sg",
            member_id=str(self.placeholders["<new member>"]),
            share_session_epoch=0,
            max_wait_ms=0,
            min_bytes=0,
            max_records=10,
            batch_size=10,
            topics=(ShareFetchTopic(topic_id=self.topic_id("orders"), partitions=partitions),),
        )


def _is_led(topic: MetadataResponseTopic, partitions: int) -> bool:
    return len(topic.partitions) == partitions and all(each.leader_id >= 0 for each in topic.partitions)
