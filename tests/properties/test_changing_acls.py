"""ACLs change while clients of three users run: each request is allowed or refused by the ACLs of its moment."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import pytest
from attrs import evolve, frozen
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from kafka_groups import AsyncKafkaShareConsumer
from kafka_groups.acls import AclBinding, AclOperation, AclPatternType, AclPermission, AclResourceType
from kafka_groups.broker.authorization.authorizer import Authorizer
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.security import BrokerSecurity
from kafka_groups.client.assembly import Environment
from kafka_groups.config.security.sasl import Password, SaslSettings
from kafka_groups.errors import TopicAuthorizationFailedError
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.login import login_with
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.session import Access, Session, open_session
from kafka_groups.protocol.apis import api_of
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from kafka_groups.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafka_groups.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafka_groups.protocol.messages.describe_acls import DescribeAclsRequest
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_groups.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafka_groups.protocol.record_builder import NewRecord, build_batch

T = TypeVar("T")

TOPIC, GROUP, CLUSTER = AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.CLUSTER
READ, WRITE, DESCRIBE, DELETE = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.DELETE
LITERAL, PREFIXED = AclPatternType.LITERAL, AclPatternType.PREFIXED
TOPICS, GROUPS, BROKERS = ("orders", "orders2", "posts"), ("g", "g2"), 2
PASSWORD, PATIENCE_MS = "secret", 30_000
IMPLYING = {DESCRIBE: (READ, WRITE, DELETE, AclOperation.ALTER)}
REFUSED = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
}

changing = st.builds(
    AclBinding,
    st.sampled_from((TOPIC, TOPIC, GROUP, CLUSTER)),
    st.sampled_from((*TOPICS, *GROUPS, "ord", *("o", "*", "kafka-cluster") * 3)),
    st.sampled_from((LITERAL, LITERAL, PREFIXED)),
    st.sampled_from(("User:ann", "User:bob")),
    st.sampled_from(("*", "*", "10.0.0.0/8")),
    st.sampled_from((READ, WRITE, DESCRIBE, DELETE, *(AclOperation.ALL,) * 3)),
    st.sampled_from((*(AclPermission.ALLOW,) * 4, AclPermission.DENY)),
)
ALL_RIGHTS = tuple(
    AclBinding(kind, name, LITERAL, "User:full", "*", AclOperation.ALL, AclPermission.ALLOW)
    for kind, name in ((TOPIC, "*"), (GROUP, "*"), (CLUSTER, "kafka-cluster"))
)


@frozen
class Asked:
    """A request, what it needs, and where its error is."""

    operation: AclOperation
    resource_type: AclResourceType
    name: str
    request: Any
    version: int
    code: Callable[[Any], ErrorCode]


def metadata(topic: str) -> Asked:
    request = MetadataRequest(topics=(MetadataRequestTopic(name=topic),), allow_auto_topic_creation=False)
    return Asked(DESCRIBE, TOPIC, topic, request, 12, lambda response: response.topics[0].error_code)


def produce(topic: str) -> Asked:
    batch = build_batch([NewRecord(b"one", timestamp_ms=1)])
    partition = PartitionProduceData(index=0, records=batch)
    request = ProduceRequest(
        acks=1, timeout_ms=1_000, topic_data=(TopicProduceData(name=topic, partition_data=(partition,)),)
    )
    return Asked(
        WRITE, TOPIC, topic, request, 11, lambda response: response.responses[0].partition_responses[0].error_code
    )


def delete_records(topic: str) -> Asked:
    partition = DeleteRecordsPartition(partition_index=0, offset=0)
    topics = (DeleteRecordsTopic(name=topic, partitions=(partition,)),)
    request = DeleteRecordsRequest(topics=topics, timeout_ms=1_000)
    return Asked(DELETE, TOPIC, topic, request, 2, lambda response: response.topics[0].partitions[0].error_code)


def beat(group_id: str) -> Asked:
    request = ShareGroupHeartbeatRequest(group_id=group_id, member_id="A" * 22, member_epoch=-1)
    return Asked(READ, GROUP, group_id, request, 1, lambda response: response.error_code)


def describe_group(group_id: str) -> Asked:
    request = DescribeGroupsRequest(groups=(group_id,))
    return Asked(DESCRIBE, GROUP, group_id, request, 6, lambda response: response.groups[0].error_code)


def describe_acls(_name: str) -> Asked:
    request = DescribeAclsRequest(resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1)
    return Asked(DESCRIBE, CLUSTER, "kafka-cluster", request, 3, lambda response: response.error_code)


asked = st.one_of(
    *(st.builds(make, st.sampled_from(TOPICS)) for make in (metadata, produce, delete_records)),
    *(st.builds(make, st.sampled_from(GROUPS)) for make in (beat, describe_group)),
    st.builds(describe_acls, st.just("")),
)


def may(acls: set[AclBinding], principal: str, question: Asked) -> bool:
    """The rules in their simplest form. Clients in memory have no address, so a block of addresses has none of them."""
    own = [
        acl
        for acl in acls
        if acl.principal == principal
        and acl.host == "*"
        and acl.resource_type is question.resource_type
        and (question.name.startswith(acl.name) if acl.pattern_type is PREFIXED else acl.name in ("*", question.name))
    ]
    named = (question.operation, AclOperation.ALL)
    if any(acl.permission is AclPermission.DENY and acl.operation in named for acl in own):
        return False
    giving = (*named, *IMPLYING.get(question.operation, ()))
    return any(acl.permission is AclPermission.ALLOW and acl.operation in giving for acl in own)


class ChangingAclsMachine(RuleBasedStateMachine):
    """Two brokers; `full` has all rights and never loses them; those of `ann` and `bob` change."""

    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.acls: set[AclBinding] = set(ALL_RIGHTS)
        self.run(self.start())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    async def start(self) -> None:
        self.network = MemoryNetwork()
        users = dict.fromkeys(("full", "ann", "bob"), PASSWORD)
        security = BrokerSecurity(mechanisms=("PLAIN",), users=users)
        self.cluster = EmbeddedCluster(BROKERS, network=self.network, security=security, acls=ALL_RIGHTS)
        await self.cluster.start_async()
        for topic in TOPICS:
            self.cluster.create_topic(topic)
        self.cluster.alter_group_configs("of-full", {"share.auto.offset.reset": "earliest"})
        self.sessions: dict[tuple[str, int], Session] = {}
        self.full = self.loop.create_task(self.work_as_full())

    async def work_as_full(self) -> None:
        """A share consumer with all rights, which works all the time. It ends with its first error."""
        consumer: AsyncKafkaShareConsumer[Any, Any] = AsyncKafkaShareConsumer(
            bootstrap_servers=self.cluster.bootstrap_servers,
            group_id="of-full",
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="PLAIN",
            sasl_username="full",
            sasl_password=PASSWORD,
            environment=Environment(network=self.network),
        )
        async with consumer:
            await consumer.subscribe(TOPICS)
            while True:
                self.cluster.produce("orders", [b"one"])
                await consumer.poll(timeout=0.01)
                for broker in range(BROKERS):
                    assert await self.ask("full", broker, metadata("posts"))

    async def session(self, user: str, broker: int) -> Session:
        if (user, broker) not in self.sessions:
            host, _, port = self.cluster.bootstrap_servers.split(",")[broker].partition(":")
            access = Access("test", login_with(SaslSettings("PLAIN", Password(user, PASSWORD)), SystemClock()))
            address = (host, int(port))
            self.sessions[user, broker] = await open_session(self.network, address, access, timeout_ms=PATIENCE_MS)
        return self.sessions[user, broker]

    async def send(self, user: str, broker: int, request: Any, version: int) -> Any:
        session = await self.session(user, broker)
        deadline_ms = self.loop.time() * 1_000 + PATIENCE_MS
        return await session.connection.request(request, version, deadline_ms)

    async def ask(self, user: str, broker: int, question: Asked) -> bool:
        """Whether the brokers allow a request."""
        response = await self.send(user, broker, question.request, question.version)
        return question.code(response) not in REFUSED

    @rule(binding=changing, broker=st.integers(0, BROKERS - 1))
    def create(self, binding: AclBinding, broker: int) -> None:
        creation = AclCreation(
            resource_type=binding.resource_type, resource_name=binding.name,
            resource_pattern_type=binding.pattern_type, principal=binding.principal, host=binding.host,
            operation=binding.operation, permission_type=binding.permission,
        )  # fmt: skip
        request = CreateAclsRequest(creations=(creation,))
        [result] = self.run(self.send("full", broker, request, api_of(CreateAclsRequest).versions.high)).results
        if result.error_code is ErrorCode.NONE:
            self.acls.add(binding)
        else:
            assert binding.resource_type is CLUSTER

    @rule(data=st.data(), broker=st.integers(0, BROKERS - 1))
    def delete(self, data: st.DataObject, broker: int) -> None:
        deletable = sorted(self.acls - set(ALL_RIGHTS))
        if not deletable:
            return
        self.remove(data.draw(st.sampled_from(deletable)), broker)

    def remove(self, gone: AclBinding, broker: int) -> None:
        wanted = DeleteAclsFilter(
            resource_type_filter=gone.resource_type, resource_name_filter=gone.name,
            pattern_type_filter=gone.pattern_type, principal_filter=gone.principal, host_filter=gone.host,
            operation=gone.operation, permission_type=gone.permission,
        )  # fmt: skip
        [result] = self.run(self.send("full", broker, DeleteAclsRequest(filters=(wanted,)), 3)).filter_results
        assert len(result.matching_acls) == 1
        self.acls.discard(gone)

    @rule(user=st.sampled_from(("ann", "bob")), question=asked, broker=st.integers(0, BROKERS - 1))
    def request(self, user: str, question: Asked, broker: int) -> None:
        assert self.run(self.ask(user, broker, question)) is may(self.acls, f"User:{user}", question)

    @rule(user=st.sampled_from(("ann", "bob")), question=asked, wide=st.booleans())
    def right_is_given_and_taken(self, user: str, question: Asked, *, wide: bool) -> None:
        """What one broker allows is refused by the other one as soon as the right is gone."""
        name = "*" if wide and question.resource_type is not CLUSTER else question.name
        given = AclBinding(
            question.resource_type, name, LITERAL, f"User:{user}", "*", question.operation, AclPermission.ALLOW
        )
        denied = evolve(given, name=question.name, permission=AclPermission.DENY)
        self.create(given, 0)
        assert self.run(self.ask(user, 1, question)) is may(self.acls, f"User:{user}", question)
        self.create(denied, 1)
        assert not self.run(self.ask(user, 0, question))
        self.remove(denied, 0)
        assert self.run(self.ask(user, 1, question)) is may(self.acls, f"User:{user}", question)

    @invariant()
    def full_sees_no_error(self) -> None:
        if self.full.done():
            self.full.result()
            raise AssertionError("its consumer ended")

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            try:
                self.run(self.end())
            finally:
                self.loop.close()

    async def end(self) -> None:
        self.full.cancel()
        await asyncio.wait([self.full])
        for session in self.sessions.values():
            session.connection.close()
        await self.cluster.stop_async()
        if not self.full.cancelled():
            self.full.result()


def run_machine() -> None:
    short = settings(max_examples=25, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(ChangingAclsMachine, settings=short)


@pytest.mark.slow
def test_each_request_is_decided_by_the_acls_of_its_moment() -> None:
    run_machine()


@pytest.mark.slow
def test_decisions_that_outlive_a_change_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    first, kept = Authorizer._current, WeakKeyDictionary[Authorizer, Any]()
    monkeypatch.setattr(Authorizer, "_current", lambda self: kept.setdefault(self, first(self)))
    quick = settings(
        max_examples=30, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck),
        phases=[Phase.generate], report_multiple_bugs=False, database=None,
    )  # fmt: skip
    with pytest.raises((AssertionError, TopicAuthorizationFailedError)):
        run_state_machine_as_test(ChangingAclsMachine, settings=quick)
