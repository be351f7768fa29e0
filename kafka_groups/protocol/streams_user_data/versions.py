"""The versions of user data, what each of them brought, and the start that all have."""

from typing import Final, NoReturn

from kafka_groups.errors import MemberDataProblem
from kafka_groups.errors.texts import represented
from kafka_groups.protocol.member_data import INT32, MemberDataReader, MemberDataWriter

__all__ = [
    "FIRST_WITH_CLIENT_TAGS",
    "FIRST_WITH_ERROR_IN_ASSIGNMENT",
    "FIRST_WITH_ERROR_IN_SUBSCRIPTION",
    "FIRST_WITH_NAMED_TOPOLOGIES",
    "FIRST_WITH_NEXT_REBALANCE",
    "FIRST_WITH_OFFSET_SUMS",
    "FIRST_WITH_STANDBY_HOSTS",
    "FIRST_WITH_TOPIC_NUMBERS",
    "FIRST_WITH_UNIQUE_FIELD",
    "LATEST_VERSION",
    "OLDEST_VERSION",
    "check_writable",
    "read_version",
    "reader_of",
    "refuse_named_topology",
]

OLDEST_VERSION: Final = 3
"""The oldest version that is read. Members with older ones cannot share a group with cooperative ones."""

LATEST_VERSION: Final = 11
"""The version of Kafka Streams 3.2 and later."""

FIRST_WITH_ERROR_IN_ASSIGNMENT: Final = 4
FIRST_WITH_TOPIC_NUMBERS: Final = 5
FIRST_WITH_STANDBY_HOSTS: Final = 6
FIRST_WITH_OFFSET_SUMS: Final = 7
FIRST_WITH_NEXT_REBALANCE: Final = 7
FIRST_WITH_UNIQUE_FIELD: Final = 8
FIRST_WITH_ERROR_IN_SUBSCRIPTION: Final = 9
FIRST_WITH_NAMED_TOPOLOGIES: Final = 10
FIRST_WITH_CLIENT_TAGS: Final = 11

_OLDEST_OF_ALL: Final = 1


def reader_of(structure: str, data: bytes | None) -> MemberDataReader:
    """Return a reader of user data.

    Raises:
        MemberDataError: There is none.
    """
    reader = MemberDataReader(structure, data or b"")
    if not data:
        reader.fail("version", "there is no user data")
    return reader


def read_version(reader: MemberDataReader) -> int:
    """Read the version, which is the first number. It may be above `LATEST_VERSION`.

    Raises:
        MemberDataError: It is below `OLDEST_VERSION`, or the bytes end before.
    """
    version = reader.number(INT32, "version")
    if version < _OLDEST_OF_ALL:
        reader.fail("version", f"it is {version}")
    if version < OLDEST_VERSION:
        reason = (
            f"it is {version}. Kafka Streams 2.3 and older cannot share a group. Stop the members that run it, or "
            "upgrade them to 2.5 or newer"
        )
        reader.fail("version", reason, problem=MemberDataProblem.TOO_OLD)
    return version


def check_writable(writer: MemberDataWriter, version: int) -> None:
    """Check a version to write.

    Raises:
        MemberDataError: It is not 3 to 11.
    """
    if not OLDEST_VERSION <= version <= LATEST_VERSION:
        writer.fail("version", f"{version} is not one of {OLDEST_VERSION} to {LATEST_VERSION}")


def refuse_named_topology(reader: MemberDataReader, field: str, name: str) -> NoReturn:
    """Raise the error of a task of a named topology.

    Raises:
        MemberDataError: Always.
    """
    reason = f"it has a task of the named topology {represented(name)}. Named topologies are not supported"
    reader.fail(field, reason, problem=MemberDataProblem.NAMED_TOPOLOGY)
