"""Host maps: their topics have numbers, and all assignments of a round share their bytes."""

from collections.abc import Iterator

import pytest
from attrs import evolve

from kafka_groups.errors import MemberDataError, MemberDataProblem
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo, decode_assignment
from kafka_groups.protocol.streams_user_data.host_maps import HostMaps, SharedHostMaps
from kafka_groups.types import TaskId, TopicPartition

MAPS = HostMaps(
    active=(
        (("h1", 1), (TopicPartition("b", 0), TopicPartition("a", 0))),
        (("h2", 2), ()),
        (("h1", 1), (TopicPartition("b", 1),)),
    ),
    standby=((("h2", 2), (TopicPartition("c", 0), TopicPartition("a", 0))),),
)


@pytest.mark.parametrize("version", range(3, 12))
def test_maps_are_read_as_they_were_written(version: int) -> None:
    data = AssignmentInfo(version=version, host_maps=MAPS).encode()
    found = decode_assignment(data).host_maps
    assert found.active == MAPS.active
    assert found.standby == (MAPS.standby if version >= 6 else ())
    assert AssignmentInfo(version=version, host_maps=found).encode() == data


def test_topics_are_numbered_in_the_order_in_which_they_come() -> None:
    data = AssignmentInfo(host_maps=MAPS).encode()
    assert decode_assignment(data).host_maps.topic_numbers == ((0, "b"), (1, "a"), (2, "c"))


def test_numbers_that_were_read_stay_and_further_topics_get_the_next() -> None:
    known = evolve(MAPS, topic_numbers=((7, "a"), (-3, "nowhere"), (4, "b")))
    found = decode_assignment(AssignmentInfo(host_maps=known).encode()).host_maps
    assert found.topic_numbers == ((7, "a"), (-3, "nowhere"), (4, "b"), (8, "c"))
    assert found == MAPS


def test_a_partition_of_a_topic_without_a_name_is_refused() -> None:
    data = AssignmentInfo(host_maps=HostMaps(((("h", 1), (TopicPartition("t", 5),)),))).encode()
    with pytest.raises(MemberDataError, match="topic 1 is not among its topics") as caught:
        decode_assignment(data.replace(b"\x00\x00\x00\x00\x00\x00\x00\x05", b"\x00\x00\x00\x01\x00\x00\x00\x05"))
    assert (caught.value.problem, caught.value.field) == (MemberDataProblem.BROKEN, "AssignmentInfo.partitionsByHost")


@pytest.mark.parametrize("version", range(3, 12))
def test_equal_maps_of_a_round_are_read_once(version: int) -> None:
    shared = SharedHostMaps()
    infos = [AssignmentInfo(version=version, host_maps=MAPS, active_tasks=(TaskId("0", each),)) for each in range(3)]
    found = [decode_assignment(info.encode(), shared) for info in infos]
    assert found == [decode_assignment(info.encode()) for info in infos]
    assert found[0].host_maps is found[1].host_maps is found[2].host_maps


def test_maps_that_only_begin_alike_are_read_anew() -> None:
    """Other maps, the same ones in another version, and bytes that end in the middle of them."""
    shared, longer = SharedHostMaps(), evolve(MAPS, standby=(*MAPS.standby, (("h3", 3), ())))
    for maps, version in ((MAPS, 11), (longer, 11), (MAPS, 11), (MAPS, 5), (MAPS, 6), (HostMaps(), 6)):
        data = AssignmentInfo(version=version, host_maps=maps).encode()
        assert decode_assignment(data, shared) == decode_assignment(data)
    whole = AssignmentInfo(host_maps=MAPS).encode()
    decode_assignment(whole, shared)
    with pytest.raises(MemberDataError):
        decode_assignment(whole[:-30], shared)


@pytest.mark.parametrize("version", range(3, 12))
def test_two_hundred_assignments_go_over_the_maps_once(version: int) -> None:
    counted = _Counted(MAPS.active)
    maps = HostMaps(counted, MAPS.standby)
    assignments = {AssignmentInfo(version=version, host_maps=maps).encode() for _ in range(200)}
    assert len(assignments) == 1
    once = _Counted(MAPS.active)
    HostMaps(once, MAPS.standby).encode(version)
    assert counted.iterations == once.iterations > 0


class _Counted(tuple[tuple[tuple[str, int], tuple[TopicPartition, ...]], ...]):  # noqa: SLOT001 - it has a count
    """A map that counts how often it is gone over."""

    iterations = 0

    def __iter__(self) -> Iterator[tuple[tuple[str, int], tuple[TopicPartition, ...]]]:
        self.iterations += 1
        return super().__iter__()
