"""Removing members of groups (KIP-345): what our admin client does, and whether Kafka's own does the same."""

import asyncio
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kafka_groups.admin import AsyncKafkaAdmin, RemovedMember
from kafka_groups.errors import (
    BrokerError,
    ConfigurationError,
    GroupIdNotFoundError,
    UnknownMemberIdError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from tests.support.kafka.kafka_classpath import kafka_classpath, libs_or_skip
from tests.support.kafka.real_kafka import unique
from tests.support.members.classic_group import Group
from tests.support.members.classic_member import ClassicMember
from tests.support.members.consumer_member import ConsumerMember
from tests.support.targets import Target, everywhere, over_tcp

UNKNOWN, REBALANCING = "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS"
PATIENCE_S = 120
EMPTY = 7
"""Where `groups_to_try` has everyone of an empty group."""
NOTHING_ASSIGNED = b"\x00\x00" + b"\x00\x00\x00\x00" + b"\xff\xff\xff\xff"
Java = Callable[..., list[list[str]]]


async def new_group(target: Target) -> Group:
    """A group that does not exist yet."""
    group_id = unique("group")
    await target.cluster.coordinator_of(group_id)
    return Group(target.client, group_id)


@everywhere
async def test_static_members_are_removed_by_their_instance_ids(target: Target) -> None:
    group = await new_group(target)
    members = await group.stable("one", "two", "three", None)
    one, three, dynamic = (next(m for m in members if m.instance == name) for name in ("one", "three", None))
    async with target.admin() as admin:
        removed = await admin.remove_members(group.group_id, ["one", "two", "nobody"], reason="scaled down")
    assert {key: value.instance_id for key, value in removed.values.items()} == {"one": "one", "two": "two"}
    assert isinstance(removed.errors["nobody"], UnknownMemberIdError)
    assert await one.heartbeat() == UNKNOWN
    assert await three.heartbeat() == REBALANCING
    assert await dynamic.heartbeat() == REBALANCING


@everywhere
async def test_everyone_is_removed(target: Target) -> None:
    group = await new_group(target)
    members = await group.stable("one", "two", None)
    (dynamic,) = (member for member in members if member.instance is None)
    async with target.admin() as admin:
        removed = await admin.remove_members(group.group_id, "everyone", reason="x" * 300)
        assert not removed.errors
        assert set(removed) == {"one", "two", dynamic.member_id}
        assert removed[dynamic.member_id] == RemovedMember(dynamic.member_id, None)
        assert (await group.described()).group_state == "Empty"
        assert len(await admin.remove_members(group.group_id, "everyone")) == 0


@everywhere
async def test_groups_that_are_missing_or_of_another_type(target: Target) -> None:
    share_group = await target.group_of(await target.cluster.create_topic())
    async with target.admin() as admin:
        for group_id in (unique("missing"), share_group):
            removed = await admin.remove_members(group_id, ["one"])
            assert isinstance(removed.errors["one"], UnknownMemberIdError)
            with pytest.raises(GroupIdNotFoundError):
                await admin.remove_members(group_id, "everyone")
        with pytest.raises(ConfigurationError, match="list of names"):
            await admin.remove_members(share_group, "one")
        with pytest.raises(ConfigurationError, match="empty"):
            await admin.remove_members(share_group, [])


async def consumer_group(target: Target, *instances: str | None) -> str:
    """A consumer group (KIP-848) with such members."""
    topic = await target.cluster.create_topic(2)
    group_id = unique("consumers")
    await target.cluster.coordinator_of(group_id)
    for number, instance in enumerate(instances):
        member = ConsumerMember(target.client(), group_id, f"member-{number}", (topic,), instance)
        assert (await member.join(topic.name)).error == "NONE"
    return group_id


@everywhere
async def test_members_of_a_consumer_group_are_removed(target: Target) -> None:
    group_id = await consumer_group(target, "one", "two", None)
    async with target.admin() as admin:
        removed = await admin.remove_members(group_id, ["one", "nobody"])
        assert list(removed.values) == ["one"]
        assert isinstance(removed.errors["nobody"], UnknownMemberIdError)
        everyone = await admin.remove_members(group_id, "everyone")
        assert not everyone.errors
        assert set(everyone) == {"two", "member-2"}
        assert len(await admin.remove_members(group_id, "everyone")) == 0


# ------------------------------------------------------------------------------------ as in Java


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Java:
    """Kafka's own admin client: takes groups and members, returns the names of errors."""
    classpath, directory = kafka_classpath(libs_or_skip()), tmp_path_factory.mktemp("classes")
    source = Path(__file__).parents[1] / "support" / "kafka" / "java" / "MemberRemoval.java"
    _run(["javac", "-cp", classpath, "-d", str(directory), str(source)])

    def run(bootstrap_servers: str, *wanted: tuple[str, str]) -> list[list[str]]:
        command = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{directory}:{classpath}", "MemberRemoval"]
        lines = "".join(f"{group_id} {members}\n" for group_id, members in wanted)
        return [line.split() for line in _run([*command, bootstrap_servers], lines).splitlines()]

    return run


def _run(command: Sequence[str], given: str = "") -> str:
    done = subprocess.run(command, input=given, text=True, capture_output=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


async def ours(admin: AsyncKafkaAdmin, group_id: str, members: str) -> list[str]:
    """What our client says in the form of the Java program: the error of the call, and those of the members."""
    names = [] if members == "*" else members.split(",")
    try:
        removed = await admin.remove_members(group_id, names or "everyone")
    except BrokerError as error:
        return [ErrorCode(error.code).name] * (1 + len(names))
    errors = {
        key: ErrorCode(error.code).name for key, error in removed.errors.items() if isinstance(error, BrokerError)
    }
    return [next(iter(errors.values()), "NONE"), *(errors.get(name, "NONE") for name in names)]


async def consuming(group: Group, *instances: str | None) -> list[ClassicMember]:
    """Members with assignments that consumers can read, as Kafka's client reads them before it removes everyone."""
    members = [group.member(instance) for instance in instances]
    for number, member in enumerate(members):
        await group.rebalanced(member, *members[:number])
    assigned = {member.member_id: NOTHING_ASSIGNED for member in members}
    await asyncio.gather(*(member.sync(assigned if member.leads else None) for member in members))
    return members


async def groups_to_try(target: Target) -> list[tuple[Group, str]]:
    """Groups, each with the members to remove."""
    wanted: tuple[str, ...] = ("one,two", "one,nobody", "nobody", "*")
    made = [await new_group(target) for _ in wanted]
    for group in made:
        await consuming(group, "one", "two", None)
    empty, missing = await new_group(target), await new_group(target)
    (last,) = await consuming(empty, None)
    await last.leave()
    share_group = Group(target.client, await target.group_of(await target.cluster.create_topic()))
    for members in ("one,nobody", "*"):
        made.append(Group(target.client, await consumer_group(target, "one", "two", None)))
        wanted = (*wanted, members)
    others = [(group, members) for group in (empty, missing, share_group) for members in ("one", "*")]
    return [*zip(made, wanted, strict=True), *others]


@pytest.mark.real_kafka
@over_tcp
async def test_the_results_are_those_of_kafkas_own_client(target: Target, java: Java) -> None:
    theirs, mine = await groups_to_try(target), await groups_to_try(target)
    java_says = await asyncio.to_thread(
        java, target.bootstrap_servers, *((group.group_id, members) for group, members in theirs)
    )
    async with target.admin() as admin:
        we_say = [await ours(admin, group.group_id, members) for group, members in mine]
    labels = [members for _, members in mine]
    assert java_says[EMPTY] == ["IllegalArgumentException"]  # of an empty group, Kafka's client does not say "nobody"
    java_says[EMPTY] = ["NONE"]
    assert list(zip(labels, we_say, strict=True)) == list(zip(labels, java_says, strict=True))
    assert [await instances_left(group) for group, _ in mine] == [await instances_left(group) for group, _ in theirs]


async def instances_left(group: Group) -> list[str | None]:
    """The instance ids of the members, and None for dynamic ones."""
    request = ConsumerGroupDescribeRequest(group_ids=(group.group_id,), include_authorized_operations=False)
    (consumers,) = (await group.new_client().ask(request)).groups
    instances = [member.instance_id for member in consumers.members]
    return sorted(instances or [member.group_instance_id for member in (await group.described()).members], key=str)
