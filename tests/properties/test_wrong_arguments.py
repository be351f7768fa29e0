"""No wrong argument of a public method ends a client: it is refused in the caller, and the client goes on to work.

Every public method and every settable attribute of all six clients is called with a table of wrong values, one
parameter at a time.
"""

import asyncio
import inspect
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest
from confluent_kafka import TopicPartition as OfConfluent

from kafka_groups import (
    AcknowledgeType,
    AsyncKafkaAdmin,
    AsyncKafkaShareConsumer,
    AsyncStreamsGroupMember,
    KafkaAdmin,
    KafkaShareConsumer,
    StreamsGroupMember,
    TopicPartition,
)
from kafka_groups.acls import AclBinding, AclFilter, AclOperation, AclResourceType
from kafka_groups.admin import ConfigResource
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.errors import ClientFailureError, KafkaGroupsError
from kafka_groups.streams import TasksRevoked
from kafka_groups.streams.member.rules.member_tasks import NO_TASKS
from kafka_groups.types import OffsetAndMetadata
from tests.unit.streams.member.clusters import SETTINGS, TOPOLOGY

TOPIC = "flights"
PLACE = TopicPartition(TOPIC, 0)
SHORT_S = 0.05

WRONG: tuple[Any, ...] = (
    *(None, True, -1, 0, 1.5, math.nan, math.inf, 2**31, 2**63, 10**400, Decimal(1), object(), timedelta(seconds=1)),
    *(
        "",
        "text",
        "\ud800",
        "x" * 40_000,
        b"bytes",
        b"",
        [],
        [None],
        [""],
        ["\ud800"],
        ["x" * 40_000],
        [["nested"]],
        {},
    ),
    *({}, {"a": 1}, {None: None}, {"a": {"b": 2}}, {"a": {"\ud800": None}}, {"a": {"b": "\ud800"}}, {"a": [None]}),
    *((TOPIC, 0), [(TOPIC, 0)], {(TOPIC, 0): 1}, OfConfluent(TOPIC, 0), [OfConfluent(TOPIC, 0)]),
    *({OfConfluent(TOPIC, 0): 1}, [TopicPartition(TOPIC, -1)], [TopicPartition(TOPIC, 2**40)]),
    *([TopicPartition(TOPIC, "0")], [TopicPartition("", 0)], [TopicPartition("\ud800", 0)], [PLACE]),  # type: ignore[arg-type]
    *({TopicPartition(TOPIC, None): 1}, {TopicPartition(None, 0): 1}, {PLACE: None}, {PLACE: -1}, {PLACE: 2**63}),  # type: ignore[arg-type]
    *({PLACE: "1"}, {PLACE: math.nan}, {PLACE: OffsetAndMetadata(1, -7)}, {PLACE: OffsetAndMetadata(1, None, 5)}),  # type: ignore[arg-type]
    *({PLACE: OffsetAndMetadata(1, None, "\ud800")}, {PLACE: OffsetAndMetadata(1, 2**40)}, {"app": [(TOPIC, 0)]}),
    *(datetime.fromtimestamp(0, UTC).replace(tzinfo=None), lambda: None, AcknowledgeType.GAP, PLACE),
    TasksRevoked(NO_TASKS),
)

VALID: Mapping[str, Any] = MappingProxyType({
    "timeout": SHORT_S,
    "topics": [TOPIC],
    "group_ids": ["app"],
    "group_id": "app",
    "groups": ["app"],
    "offsets": {PLACE: 1},
    "partitions": [PLACE],
    "to": "earliest",
    "changes": {"app": {"share.auto.offset.reset": "earliest"}},
    "instance_ids": ["one"],
    "transactional_ids": ["tx"],
    "start_offset": 0,
    "event": TasksRevoked(NO_TASKS),
    "topic": TOPIC,
    "partition": 0,
    "offset": 0,
    "first_offset": 0,
    "last_offset": 0,
    "record": None,
    "records": None,
    "callback": None,
    "assignor": "sticky",
    "standby_replicas": 0,
    "bindings": [AclBinding(AclResourceType.TOPIC, TOPIC, "literal", "User:ann", "*", AclOperation.READ, "allow")],
    "filters": [AclFilter()],
    "totals": {TOPIC: 2},
    "before": {PLACE: 0},
    "resources": [ConfigResource("topic", TOPIC)],
    "leaving": (),
    "joining": (),
})  # fmt: skip

ENDS = frozenset({"close", "request_shutdown", "unsubscribe"})
"""Methods that end what a client does, if their arguments are right."""


def methods_of(client: object) -> Iterator[tuple[str, list[str]]]:
    """Public methods with the names of their parameters."""
    for name, method in inspect.getmembers(client, callable):
        if not name.startswith("_") and not inspect.isclass(method):
            yield name, list(inspect.signature(method).parameters)


def calls_of(client: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """One wrong argument at a time, the others right."""
    for name, parameters in methods_of(client):
        right = {each: VALID[each] for each in parameters if each in VALID}
        for parameter in parameters:
            for value in WRONG:
                waits_forever = name == "poll" and parameter == "timeout" and value is None
                if not waits_forever and not (name in ENDS and _is_right(parameter, value)):
                    yield name, right | {parameter: value}


def _is_right(parameter: str, value: object) -> bool:
    return parameter == "timeout" and (value is None or (isinstance(value, int | float) and value in (0, 1.5)))


def properties_of(client: object) -> Iterator[str]:
    for name, value in inspect.getmembers(type(client), lambda it: isinstance(it, property)):
        if not name.startswith("_") and value.fset is not None:
            yield name


def set_wrong_values(client: object) -> None:
    """Set each settable attribute to each wrong value, and back."""
    for name in properties_of(client):
        before = getattr(client, name)
        for value in WRONG:
            refused(lambda name=name, value=value: setattr(client, name, value))  # type: ignore[misc]
        setattr(client, name, before)


def refused(call: Callable[[], object]) -> None:
    try:
        call()
    except KafkaGroupsError as error:
        check(error)


def check(error: KafkaGroupsError) -> None:
    assert not isinstance(error, ClientFailureError), error
    assert str(error)


async def call_everything(client: object, works: Callable[[], Awaitable[None]]) -> int:
    """Call everything with wrong values; after each method, the client works."""
    count, last = 0, ""
    for name, arguments in calls_of(client):
        if name != last:
            await works()
        last, count = name, count + 1
        try:
            answer = getattr(client, name)(**arguments)
            if inspect.isawaitable(answer):
                await answer
        except KafkaGroupsError as error:
            check(error)
    set_wrong_values(client)
    await works()
    return count


def call_everything_blocking(client: object, works: Callable[[], None]) -> None:
    """The same for a blocking client."""
    last = ""
    for name, arguments in calls_of(client):
        if name != last:
            works()
        last = name
        refused(lambda: getattr(client, name)(**arguments))  # noqa: B023 - called at once
    set_wrong_values(client)
    works()


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings=SETTINGS) as made:
        made.create_topic(TOPIC, 1)
        yield made


async def test_the_asynchronous_admin_client(cluster: EmbeddedCluster) -> None:
    async with AsyncKafkaAdmin(bootstrap_servers=cluster.bootstrap_servers) as admin:

        async def works() -> None:
            await admin.list_share_groups()

        assert await call_everything(admin, works) > len(WRONG) * 20


def test_the_blocking_admin_client(cluster: EmbeddedCluster) -> None:
    with KafkaAdmin(bootstrap_servers=cluster.bootstrap_servers) as admin:

        def works() -> None:
            admin.list_share_groups()

        call_everything_blocking(admin, works)


async def test_the_asynchronous_member(cluster: EmbeddedCluster) -> None:
    async with AsyncStreamsGroupMember(
        bootstrap_servers=cluster.bootstrap_servers, application_id="asynchronous", topology=TOPOLOGY
    ) as member:
        await member.join()
        while not member.tasks:
            await member.poll()

        async def works() -> None:
            await member.poll(0)
            await member.commit({PLACE: 5})
            assert (await member.committed([PLACE]))[PLACE] == OffsetAndMetadata(5)

        assert await call_everything(member, works) > len(WRONG) * 5


def test_the_blocking_member(cluster: EmbeddedCluster) -> None:
    with StreamsGroupMember(
        bootstrap_servers=cluster.bootstrap_servers, application_id="blocking", topology=TOPOLOGY
    ) as member:
        member.join()
        while not member.tasks:
            member.poll()

        def works() -> None:
            member.poll(0)
            member.commit({PLACE: 5})
            assert member.committed([PLACE])[PLACE] == OffsetAndMetadata(5)

        call_everything_blocking(member, works)


async def test_the_asynchronous_share_consumer(cluster: EmbeddedCluster) -> None:
    keywords: dict[str, Any] = {"group_id": "asynchronous-share", "share_acknowledgement_mode": "explicit"}
    async with AsyncKafkaShareConsumer(bootstrap_servers=cluster.bootstrap_servers, **keywords) as consumer:
        await consumer.subscribe([TOPIC])
        while not consumer.assignment():
            await consumer.poll(0.1)

        async def works() -> None:
            await consumer.subscribe([TOPIC])
            async with asyncio.timeout(30):
                while not (records := await consumer.poll(SHORT_S)):
                    cluster.produce(TOPIC, [b"one"])
            consumer.acknowledge_all(records)
            await consumer.commit_sync()

        assert await call_everything(consumer, works) > len(WRONG) * 10


def test_the_blocking_share_consumer(cluster: EmbeddedCluster) -> None:
    keywords: dict[str, Any] = {"group_id": "blocking-share", "share_acknowledgement_mode": "explicit"}
    with KafkaShareConsumer(bootstrap_servers=cluster.bootstrap_servers, **keywords) as consumer:
        consumer.subscribe([TOPIC])
        while not consumer.assignment():
            consumer.poll(0.1)

        def works() -> None:
            consumer.subscribe([TOPIC])
            while not (records := consumer.poll(SHORT_S)):
                cluster.produce(TOPIC, [b"one"])
            consumer.acknowledge_all(records)
            consumer.commit_sync()

        call_everything_blocking(consumer, works)
