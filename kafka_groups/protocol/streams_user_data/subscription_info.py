"""The user data with which a member of a Kafka Streams application joins its group."""

from typing import Final
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.member_data import INT8, INT32, MemberDataReader, MemberDataWriter
from kafka_groups.protocol.streams_user_data.offset_sums import TaskOffsetSums, read_offset_sums, write_offset_sums
from kafka_groups.protocol.streams_user_data.versions import (
    FIRST_WITH_CLIENT_TAGS,
    FIRST_WITH_ERROR_IN_SUBSCRIPTION,
    FIRST_WITH_OFFSET_SUMS,
    FIRST_WITH_UNIQUE_FIELD,
    LATEST_VERSION,
    check_writable,
    read_version,
    reader_of,
)

__all__ = ["FutureSubscription", "SubscriptionInfo", "decode_subscription"]

_STRUCTURE: Final = "SubscriptionInfo"
_UUID_SIZE: Final = 16
_LEAST_TAG: Final = 2 * INT32.size

_ClientTags = tuple[tuple[str, str], ...]


@frozen
class FutureSubscription:
    """A subscription of a version above `LATEST_VERSION`, of which only the first two numbers are known.

    Attributes:
        version: Its version.
        latest_supported_version: The latest version that the member can read.
    """

    version: int
    latest_supported_version: int


@frozen
class SubscriptionInfo:
    """The user data of a subscription: `SubscriptionInfo` in Kafka Streams.

    Attributes:
        process_id: The id of the member's process.
        version: The version of the bytes, 3 to 11.
        latest_supported_version: The latest version that the member can read.
        task_offset_sums: The tasks with changelogs whose state the member has, in the order of the bytes, each with the
            sum of its changelog positions, or `RUNNING_TASK`. Versions up to 6 tell only which tasks run (stateless
            ones too). There every other sum is `UNKNOWN_OFFSET_SUM`, and running tasks come first. In versions 7 to 9
            the tasks of a sub-topology stand together.
        user_endpoint: The `application.server`, "host:port"; None without one.
        unique_field: A number of -128 to 127 that differs from the last one, so that brokers see a change. Version 8+.
        error_code: 4 if the member asks all members to shut down, otherwise 0. Version 9+.
        client_tags: The client tags, key and value, in the order of the bytes. Version 11+.
    """

    process_id: UUID
    version: int = LATEST_VERSION
    latest_supported_version: int = LATEST_VERSION
    task_offset_sums: TaskOffsetSums = ()
    user_endpoint: str | None = None
    unique_field: int = 0
    error_code: int = 0
    client_tags: _ClientTags = ()

    def encode(self) -> bytes:
        """Return the bytes in the subscription's version. Fields that the version does not have are left out.

        Raises:
            MemberDataError: A value does not fit its field, or a sub-topology is not a number.
        """
        writer = MemberDataWriter(_STRUCTURE)
        check_writable(writer, self.version)
        writer.number(INT32, self.version, "version")
        writer.number(INT32, self.latest_supported_version, "latestSupportedVersion")
        writer.raw(self.process_id.bytes)
        self._write_tasks_and_endpoint(writer)
        if self.version >= FIRST_WITH_UNIQUE_FIELD:
            writer.number(INT8, self.unique_field, "uniqueField")
        if self.version >= FIRST_WITH_ERROR_IN_SUBSCRIPTION:
            writer.number(INT32, self.error_code, "errorCode")
        if self.version >= FIRST_WITH_CLIENT_TAGS:
            _write_tags(writer, self.client_tags)
        return writer.written()

    def _write_tasks_and_endpoint(self, writer: MemberDataWriter) -> None:
        # The order of the two changed with the offset sums.
        if self.version < FIRST_WITH_OFFSET_SUMS:
            write_offset_sums(writer, self.task_offset_sums, self.version)
        writer.text(INT32, self.user_endpoint or "", "userEndPoint")
        if self.version >= FIRST_WITH_OFFSET_SUMS:
            write_offset_sums(writer, self.task_offset_sums, self.version)


def decode_subscription(data: bytes | None) -> SubscriptionInfo | FutureSubscription:
    """Read the user data of a subscription. Bytes after its fields are ignored.

    Raises:
        MemberDataError: It is missing or cannot be read; `problem` tells why.
    """
    reader = reader_of(_STRUCTURE, data)
    version = read_version(reader)
    latest = reader.number(INT32, "latestSupportedVersion")
    if latest < version:
        reader.fail("latestSupportedVersion", f"it is {latest}, below version {version}")
    if version > LATEST_VERSION:
        return FutureSubscription(version, latest)
    return _known(reader, version, latest)


def _known(reader: MemberDataReader, version: int, latest: int) -> SubscriptionInfo:
    has_sums = version >= FIRST_WITH_OFFSET_SUMS
    process_id = UUID(bytes=reader.taken(_UUID_SIZE, "processId"))
    early = () if has_sums else read_offset_sums(reader, version)
    endpoint = reader.text(INT32, "userEndPoint")
    return SubscriptionInfo(
        process_id=process_id,
        version=version,
        latest_supported_version=latest,
        task_offset_sums=read_offset_sums(reader, version) if has_sums else early,
        user_endpoint=endpoint or None,
        unique_field=reader.number(INT8, "uniqueField") if version >= FIRST_WITH_UNIQUE_FIELD else 0,
        error_code=reader.number(INT32, "errorCode") if version >= FIRST_WITH_ERROR_IN_SUBSCRIPTION else 0,
        client_tags=_tags(reader) if version >= FIRST_WITH_CLIENT_TAGS else (),
    )


def _tags(reader: MemberDataReader) -> _ClientTags:
    items = reader.items(_LEAST_TAG, "clientTags")
    return tuple((reader.text(INT32, "clientTags"), reader.text(INT32, "clientTags")) for _ in items)


def _write_tags(writer: MemberDataWriter, tags: _ClientTags) -> None:
    writer.number(INT32, len(tags), "clientTags")
    for key, value in tags:
        writer.text(INT32, key, "clientTags")
        writer.text(INT32, value, "clientTags")
