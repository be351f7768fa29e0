"""The partitions of all processes that answer interactive queries, by host."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from attrs import field, frozen

from kafka_groups.protocol.member_data import INT32, UINT16, MemberDataReader, MemberDataWriter
from kafka_groups.protocol.streams_user_data.versions import FIRST_WITH_STANDBY_HOSTS, FIRST_WITH_TOPIC_NUMBERS
from kafka_groups.types import TopicPartition

__all__ = ["HostMaps", "PartitionsByHost", "SharedHostMaps", "read_host_maps"]

PartitionsByHost = tuple[tuple[tuple[str, int], tuple[TopicPartition, ...]], ...]
"""(host, port) and its partitions, in the order of the bytes, which may list a host twice."""

_STRUCTURE: Final = "AssignmentInfo"
_ACTIVE: Final = "partitionsByHost"
_STANDBY: Final = "standbyPartitionsByHost"
_TOPICS: Final = "topics"
_LEAST_HOST: Final = UINT16.size + 2 * INT32.size
_LEAST_NAMED: Final = UINT16.size + INT32.size
_NUMBERED: Final = 2 * INT32.size
_LEAST_TOPIC: Final = INT32.size + UINT16.size


@frozen
class HostMaps:
    """The source partitions of each process with an `application.server`.

    The same maps are in the assignments of all members. A `HostMaps` encodes them once for each form that versions have
    had, so give all assignments of a round the same one.

    Attributes:
        active: The partitions of active tasks by host.
        standby: The partitions of standby tasks by host. Version 6+.
        topic_numbers: Numbers and names of topics in the order of the bytes; empty if the maps were not read from
            bytes. Encoding gives further topics the next numbers. It does not count in comparisons.
    """

    active: PartitionsByHost = ()
    standby: PartitionsByHost = ()
    topic_numbers: tuple[tuple[int, str], ...] = field(default=(), eq=False, repr=False)

    def encode(self, version: int) -> bytes:
        """Return the bytes of the maps in a version of user data.

        Raises:
            MemberDataError: A value does not fit its field.
        """
        if version < FIRST_WITH_TOPIC_NUMBERS:
            return self._with_names
        return self._with_numbers if version < FIRST_WITH_STANDBY_HOSTS else self._with_standby

    @cached_property
    def _with_names(self) -> bytes:
        writer = MemberDataWriter(_STRUCTURE)
        writer.number(INT32, len(self.active), _ACTIVE)
        for host, partitions in self.active:
            _write_host(writer, host, len(partitions), _ACTIVE)
            for each in partitions:
                writer.java_text(each.topic, _ACTIVE)
                writer.number(INT32, each.partition, _ACTIVE)
        return writer.written()

    @cached_property
    def _with_numbers(self) -> bytes:
        return self._numbered({_ACTIVE: self.active})

    @cached_property
    def _with_standby(self) -> bytes:
        return self._numbered({_ACTIVE: self.active, _STANDBY: self.standby})

    def _numbered(self, maps: Mapping[str, PartitionsByHost]) -> bytes:
        numbers = self._numbers_of(maps)
        writer = MemberDataWriter(_STRUCTURE)
        writer.number(INT32, len(numbers), _TOPICS)
        for topic, number in numbers.items():
            writer.number(INT32, number, _TOPICS)
            writer.java_text(topic, _TOPICS)
        for name, hosts in maps.items():
            _write_numbered(writer, hosts, numbers, name)
        return writer.written()

    def _numbers_of(self, maps: Mapping[str, PartitionsByHost]) -> dict[str, int]:
        numbers = {topic: number for number, topic in self.topic_numbers}
        following = max(numbers.values(), default=-1) + 1
        for hosts in maps.values():
            for _, partitions in hosts:
                for each in partitions:
                    if each.topic not in numbers:
                        numbers[each.topic] = following
                        following += 1
        return numbers


def read_host_maps(reader: MemberDataReader, version: int) -> HostMaps:
    """Read the maps of an assignment.

    Raises:
        MemberDataError: The bytes end before, or a topic has no name.
    """
    if version < FIRST_WITH_TOPIC_NUMBERS:
        return HostMaps(tuple(_read_named(reader)))
    listed = tuple(
        (reader.number(INT32, _TOPICS), reader.java_text(_TOPICS)) for _ in reader.items(_LEAST_TOPIC, _TOPICS)
    )
    topics = dict(listed)
    active = tuple(_read_numbered(reader, topics, _ACTIVE))
    standby = tuple(_read_numbered(reader, topics, _STANDBY)) if version >= FIRST_WITH_STANDBY_HOSTS else ()
    return HostMaps(active, standby, listed)


class SharedHostMaps:
    """Reads the maps of all assignments of a round, which are the same, once.

    With the endpoints of many processes, the maps are most of an assignment.
    """

    def __init__(self) -> None:
        self._known: tuple[int, bytes, HostMaps] | None = None

    def read(self, reader: MemberDataReader, version: int) -> HostMaps:
        """Read the maps of an assignment; those of the last one if they have the same bytes.

        Raises:
            MemberDataError: The bytes end before, or a topic has no name.
        """
        # The maps tell their own length, so equal bytes of one version are the whole of equal maps.
        if self._known is not None and self._known[0] == version and reader.skip(self._known[1]):
            return self._known[2]
        start = reader.position
        maps = read_host_maps(reader, version)
        self._known = version, reader.since(start), maps
        return maps


def _read_named(reader: MemberDataReader) -> Iterator[tuple[tuple[str, int], tuple[TopicPartition, ...]]]:
    for _ in reader.items(_LEAST_HOST, _ACTIVE):
        host = (reader.java_text(_ACTIVE), reader.number(INT32, _ACTIVE))
        partitions = reader.items(_LEAST_NAMED, _ACTIVE)
        yield host, tuple(TopicPartition(reader.java_text(_ACTIVE), reader.number(INT32, _ACTIVE)) for _ in partitions)


def _read_numbered(
    reader: MemberDataReader, topics: Mapping[int, str], name: str
) -> Iterator[tuple[tuple[str, int], tuple[TopicPartition, ...]]]:
    for _ in reader.items(_LEAST_HOST, name):
        host = (reader.java_text(name), reader.number(INT32, name))
        partitions = reader.items(_NUMBERED, name)
        yield host, tuple(_read_partition(reader, topics, name) for _ in partitions)


def _read_partition(reader: MemberDataReader, topics: Mapping[int, str], name: str) -> TopicPartition:
    number = reader.number(INT32, name)
    if number not in topics:
        reader.fail(name, f"topic {number} is not among its topics")
    return TopicPartition(topics[number], reader.number(INT32, name))


def _write_host(writer: MemberDataWriter, host: tuple[str, int], partitions: int, name: str) -> None:
    writer.java_text(host[0], name)
    writer.number(INT32, host[1], name)
    writer.number(INT32, partitions, name)


def _write_numbered(writer: MemberDataWriter, hosts: PartitionsByHost, numbers: Mapping[str, int], name: str) -> None:
    writer.number(INT32, len(hosts), name)
    for host, partitions in hosts:
        _write_host(writer, host, len(partitions), name)
        for each in partitions:
            writer.number(INT32, numbers[each.topic], name)
            writer.number(INT32, each.partition, name)
