"""Members of a classic group with a leader of their own, against an embedded cluster in virtual time."""

import asyncio
import re
from typing import Any

import pytest

from kafka_groups.admin.rules.group_topology.topology_builder import GroupTopologyBuilder
from kafka_groups.admin.rules.streams_leader.group_round import LeaderSettings
from kafka_groups.assignment import AssignmentConfigs, RackAwareStrategy
from kafka_groups.broker.faults import DROP_RESPONSE
from kafka_groups.errors import BrokerError, FencedInstanceIdError, KafkaGroupsError, TasksLostError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.streams import AsyncStreamsGroupMember, MembershipState, StatusesChanged
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.member.classic.membership import ClassicMembership
from kafka_groups.streams.member.classic.versions import UserDataVersion
from kafka_groups.streams.member.classic_membership import classic_membership
from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation
from kafka_groups.types import OffsetAndMetadata, TaskId, TopicPartition
from tests.unit.streams.member.classic_members import (
    ALL,
    COUNTING,
    MEMBERSHIP,
    SETTINGS,
    at_once,
    member,
    owned,
    poll,
    shared,
    simulate,
    until,
)
from tests.unit.streams.member.clusters import TOPIC, World


def test_a_member_leads_creates_topics_and_shares_tasks_with_those_that_come_and_go() -> None:
    async def program(world: World) -> None:
        async with member(world) as first:
            await first.join()
            await until(lambda: shared(first), first)
            assert first.metrics()["leading-time-max"] >= 0
            assert world.cluster.leader_of("app-words-repartition", 1) == world.cluster.leader_of(
                "app-counts-changelog", 1
            )
            assert first.member_id
            async with member(world) as second:
                await second.join()
                await until(lambda: shared(first, second), first, second)
                assert second.epoch == first.epoch > 1
                assert [each.metrics()["is-leader"] for each in (first, second)] == [1, 0]
                assert [each.metrics()["assigned-partitions"] for each in (first, second)] == [2, 2]
            await until(lambda: shared(first), first)

    simulate(program)


def test_offsets_are_committed_with_the_generation_and_not_while_a_commit_is_kept_out() -> None:
    async def program(world: World) -> None:
        place = TopicPartition(TOPIC, 0)
        async with member(world) as first, member(world) as second:
            await first.join()
            await until(lambda: shared(first), first)
            await first.commit({place: OffsetAndMetadata(7)})
            assert (await first.committed([place]))[place] == OffsetAndMetadata(7)
            assert first._has_gate
            assert first._hold()
            await second.join()
            await until(lambda: first.state is MembershipState.JOINING, first, second)
            for _ in range(50):  # the session would have ended
                await poll(first, second)
            await first.commit({place: OffsetAndMetadata(8)})
            first._release()
            await asyncio.sleep(0)
            assert not first._hold()
            await until(lambda: shared(first, second), first, second)
            assert first._hold()
            first._release()

    simulate(program)


def test_a_follower_leads_when_the_leader_is_gone() -> None:
    async def program(world: World) -> None:
        async with member(world) as first, member(world) as second:
            await first.join()
            await until(lambda: shared(first), first)
            await second.join()
            await until(lambda: shared(first, second), first, second)
            await first.close(operation=GroupMembershipOperation.REMAIN_IN_GROUP)
            await until(lambda: shared(second), second)

    simulate(program)


def test_the_leader_joins_again_when_a_topic_has_grown() -> None:
    async def program(world: World) -> None:
        topology = GroupTopologyBuilder().add_subtopology("0", sources=[TOPIC]).build()
        config: dict[str, Any] = {"topology": topology, "_membership_of": MEMBERSHIP, "metadata_max_age_ms": 10_000}
        async with world.member(**config) as first:
            await first.join()
            await until(lambda: len(first.tasks.active) == 2, first)
            world.cluster.metadata.create_partitions(TOPIC, 3)
            await until(lambda: len(first.tasks.active) == 3, first)

    simulate(program)


BY_RACKS = LeaderSettings(
    application_id="app",
    assignment=AssignmentConfigs(rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC),
)


def racked(world: World, number: int, **config: Any) -> AsyncStreamsGroupMember:
    """A member in the rack of one of two brokers, which looks at the topics every ten seconds."""
    given: dict[str, Any] = {
        "topology": GroupTopologyBuilder().add_subtopology("0", sources=[TOPIC]).build(),
        "_membership_of": classic_membership(SETTINGS, BY_RACKS, 60_000, at_once),
        "metadata_max_age_ms": 10_000,
        "client_rack": f"r{number}",
    }
    return world.member(**{**given, **config})


async def settle(*members: AsyncStreamsGroupMember) -> None:
    """Let half a minute pass."""
    for _ in range(30):
        await poll(*members)
        await asyncio.sleep(0.9)


BY_TAGS = LeaderSettings(
    application_id="app",
    assignment=AssignmentConfigs(num_standby_replicas=1, rack_aware_assignment_tags=("zone",)),
)


def test_members_that_send_no_tags_are_told_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = UserDataVersion.__init__

    def begin_with_10(self: UserDataVersion) -> None:
        made(self)
        self.used = 10

    async def program(world: World) -> None:
        keys = {"_membership_of": classic_membership(SETTINGS, BY_TAGS, 60_000, at_once), "client_tags": {"zone": "a"}}
        async with member(world, **keys) as first:
            await first.join()
            await until(lambda: len(first.tasks.active) == len(ALL), first)
            assert not any("rack.aware.assignment.tags" in each for each in caplog.messages)
            with monkeypatch.context() as patch:
                patch.setattr(UserDataVersion, "__init__", begin_with_10)
                other = member(world, **keys)
            async with other:
                await other.join()
                await until(lambda: shared(first, other), first, other)
                await settle(first, other)
                told = [each for each in caplog.messages if "rack.aware.assignment.tags has no effect" in each]
                assert len(told) == 1
                assert other.member_id in told[0]

    simulate(program)


def by_rack(world: World) -> list[set[TaskId]]:
    """The tasks whose partitions are in the racks of the two brokers."""
    topic = world.cluster.metadata.topic(TOPIC)
    assert topic is not None
    nodes = [each.replicas for each in topic.partitions]
    return [{TaskId("0", number) for number, its in enumerate(nodes) if node in its} for node in (1, 2)]


def test_tasks_run_in_the_racks_of_their_partitions_and_follow_them_in_one_hand_over() -> None:
    async def program(world: World) -> None:
        world.give_racks()
        async with racked(world, 1) as first, racked(world, 2) as other:
            await first.join()
            await other.join()
            await until(lambda: owned(first, other) == by_rack(world), first, other)
            before, tasks = first.epoch, owned(first, other)
            for partition in range(2):
                node_id = world.cluster.leader_of(TOPIC, partition)
                world.cluster.metadata.move_leader(TopicPartition(TOPIC, partition), 3 - node_id)
            await until(lambda: owned(first, other) == by_rack(world) == tasks[::-1], first, other)
            await settle(first, other)
            # One round for the change, in which tasks are given up, and one in which they are taken.
            assert first.epoch == other.epoch == before + 2

    simulate(program, brokers=2)


def test_replicas_that_are_added_before_others_are_removed_start_one_round() -> None:
    async def program(world: World) -> None:
        world.give_racks()
        async with racked(world, 1) as first:
            await first.join()
            await until(lambda: first.epoch > 0, first)
            before = first.epoch
            started = world.simulation.clock.now_ms()
            # The leader looks every ten seconds, so it sees them while both are there.
            await until(lambda: world.simulation.clock.now_ms() - started >= 9_500, first)
            world.set_replicas(0, (1, 2))
            await until(lambda: world.simulation.clock.now_ms() - started >= 10_700, first)
            assert first.epoch == before
            world.set_replicas(0, (2,))
            await until(lambda: first.epoch > before, first)
            await settle(first)
            assert first.epoch == before + 1

    simulate(program, brokers=2)


def test_a_broker_that_is_restarted_starts_no_round() -> None:
    async def program(world: World) -> None:
        world.give_racks()
        async with racked(world, 1) as first:
            await first.join()
            world.set_replicas(0, (1, 2))
            await settle(first)
            before = first.epoch
            endpoint = world.cluster.metadata.image.brokers[2]
            world.cluster.metadata.unregister_broker(2)
            await settle(first)
            world.cluster.metadata.register_broker(endpoint)
            await settle(first)
            assert first.epoch == before

    simulate(program, brokers=2)


def test_a_static_leader_that_is_restarted_watches_racks() -> None:
    async def program(world: World) -> None:
        world.give_racks()
        static = {"group_instance_id": "w", "process_id": "p"}
        async with racked(world, 1, **static) as first:
            await first.join()
            await until(lambda: first.epoch > 0, first)
            before = first.epoch
        async with racked(world, 1, **static) as again:
            await again.join()
            await settle(again)
            assert again.epoch == before
            for partition in range(2):
                world.set_replicas(partition, (1, 2))
            await until(lambda: again.epoch > before, again)
            await settle(again)
            assert again.epoch == before + 1

    simulate(program, brokers=2)


def test_racks_that_cannot_count_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async def program(world: World) -> None:
        async with racked(world, 1) as first, racked(world, 2, client_rack="") as other:
            await first.join()
            await until(lambda: sum(map(len, owned(first))) == 2, first)
            await other.join()
            for partition in range(3, 6):
                world.cluster.metadata.create_partitions(TOPIC, partition)
                await until(lambda: sum(map(len, owned(first, other))) == partition, first, other)  # noqa: B023
        told = [each.getMessage() for each in caplog.records if "racks do not count" in each.getMessage()]
        assert [f"no broker with a replica of {TOPIC} has a rack" in each for each in told] == [True, False]
        assert re.search(r"the members \S+ have no rack\.", told[1])

    simulate(program)


@pytest.mark.parametrize("leads", [True, False])
def test_a_static_member_that_is_restarted_gets_its_tasks_and_nobody_notices(*, leads: bool) -> None:
    async def program(world: World) -> None:
        config = [{"group_instance_id": f"w{number}", "process_id": f"p{number}"} for number in range(2)]
        members = [member(world, **each) for each in config]
        for each in members:
            await each.join()
        await until(lambda: shared(*members), *members)
        before, generation = owned(*members), members[0].epoch
        number = 0 if leads else 1
        await members[number].close()
        members[number] = member(world, **config[number])
        await members[number].join()
        await until(lambda: shared(*members), *members)
        assert owned(*members) == before
        assert {each.epoch for each in members} == {generation}
        for each in members:
            await each.close(operation=GroupMembershipOperation.LEAVE_GROUP)

    simulate(program)


def test_a_commit_of_a_process_whose_instance_was_started_again_is_lost_and_the_error_names_the_remedy() -> None:
    async def program(world: World) -> None:
        async with member(world, group_instance_id="w") as older, member(world, group_instance_id="w") as newer:
            await older.join()
            await until(lambda: shared(older), older)
            await newer.join()
            await until(lambda: shared(newer), newer)
            with pytest.raises(TasksLostError):  # the older one has not sent a heartbeat yet
                await older.commit({TopicPartition(TOPIC, 0): OffsetAndMetadata(7)})
            with pytest.raises(FencedInstanceIdError, match=r"Give each process a group\.instance\.id of its own\."):
                await until(lambda: False, older)

    simulate(program)


def test_a_source_that_is_missing_is_told_at_once_with_its_name() -> None:
    async def program(world: World) -> None:
        topology = GroupTopologyBuilder().add_subtopology("0", sources=["nowhere"]).build()
        async with world.member(topology=topology, _membership_of=MEMBERSHIP) as first:
            await first.join()
            told: list[StatusesChanged] = []
            while not told:
                told += [event for event in await first.poll(1) if isinstance(event, StatusesChanged)]
            assert told[0].is_final
            assert "nowhere" in (told[0].statuses[0].status_detail or "")

    simulate(program)


def test_a_wrong_count_ends_the_leader_after_it_has_left() -> None:
    async def program(world: World) -> None:
        world.cluster.create_topic("app-counts-changelog", 5)
        async with member(world) as first:
            await first.join()
            with pytest.raises(StreamsError, match="app-counts-changelog"):
                await until(lambda: False, first)

    simulate(program)


def test_a_group_of_the_other_kind_refuses_the_member() -> None:
    async def program(world: World) -> None:
        async with world.member(topology=COUNTING) as coordinated, member(world) as classic:
            await coordinated.join()
            await until(lambda: coordinated.state is MembershipState.STABLE, coordinated)
            await classic.join()
            with pytest.raises(BrokerError) as raised:
                await until(lambda: False, classic)
            assert raised.value.code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL

    simulate(program)


def test_all_members_shut_down_when_one_asks_for_it() -> None:
    async def program(world: World) -> None:
        async with member(world) as first, member(world) as second:
            for each in (first, second):
                await each.join()
            await until(lambda: shared(first, second), first, second)
            second.request_shutdown()
            for each in (first, second):
                with pytest.raises(KafkaGroupsError, match="asked all members to shut down"):
                    await until(lambda: False, first, second) if each is first else await until(lambda: False, each)

    simulate(program)


@pytest.mark.parametrize("is_known", [True, False], ids=["member", "newcomer"])
def test_a_member_whose_answer_to_join_group_was_lost_joins_again_after_its_session(*, is_known: bool) -> None:
    async def program(world: World) -> None:
        async with member(world) as first, member(world) as second:
            await first.join()
            await until(lambda: shared(first), first)
            if is_known:
                await second.join()
                await until(lambda: shared(first, second), first, second)
            lost = world.cluster.faults.on(
                ApiKey.JOIN_GROUP,
                DROP_RESPONSE,
                times=1,
                when=lambda request: bool(request.member_id) and request.member_id != first.member_id,
            )
            if is_known:
                rounds = first._client.membership
                assert isinstance(rounds, ClassicMembership)
                rounds.request_round("a test asks for it")
            else:
                await second.join()
            await until(lambda: lost.hits == 1, first, second)
            begun_ms = world.simulation.clock.now_ms()
            before = first.epoch
            await until(lambda: shared(first, second) and second.epoch == first.epoch > before, first, second)
            took_ms = world.simulation.clock.now_ms() - begun_ms
            assert SETTINGS.session_ms <= took_ms < 4 * SETTINGS.session_ms

    simulate(program)
