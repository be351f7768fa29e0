"""Checks of the arguments of a share consumer. Each error names the value and says what to give instead."""

import enum
from collections.abc import Iterable, Mapping, Sequence

from kafka_groups.config.clients.timeouts import checked_seconds
from kafka_groups.config.places import checked_topic, is_offset
from kafka_groups.errors import ConfigurationError
from kafka_groups.functions import check_function
from kafka_groups.share.delivery.records import AnyRecord, ShareRecord
from kafka_groups.share.delivery.share_records import ShareRecords
from kafka_groups.types import AcknowledgeType

__all__ = [
    "check_callback",
    "check_kind",
    "check_offsets",
    "check_renewal_target",
    "checked_fetch_limit",
    "checked_records",
    "checked_release_after",
    "checked_topics",
    "not_a_record",
]


def checked_topics(topics: object) -> frozenset[str]:
    """Return the topics of a subscription.

    Raises:
        ConfigurationError: It is a single string, or not a collection of names.
    """
    if isinstance(topics, str | bytes) or not isinstance(topics, Iterable):
        raise ConfigurationError(f"topics={topics!r}: give a list of topic names, [{topics!r}]")
    return frozenset([checked_topic(topic, "topics") for topic in topics])


def check_offsets(*offsets: object) -> None:
    """Check that arguments are offsets of records.

    Raises:
        ConfigurationError: One is not a whole number of 0 or more.
    """
    for offset in offsets:
        if not is_offset(offset):
            raise ConfigurationError(f"{offset!r} is not the offset of a record: give a whole number, 0 or more")


def checked_fetch_limit(most: object) -> int | None:
    """Return how many records a fetch may acquire, or None.

    Raises:
        ConfigurationError: It is neither None nor a whole number of 1 or more.
    """
    # A bool is an int in Python, and MaxRecords is an int32 on the wire.
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or not 1 <= most < 2**31):
        raise ConfigurationError(f"fetch_limit={most!r}: give a number of records, 1 or more, or None")
    return most


def check_kind(kind: object) -> None:
    """Check the type of an acknowledgement.

    Raises:
        ConfigurationError: It is not an `AcknowledgeType`.
    """
    if not isinstance(kind, AcknowledgeType):
        raise ConfigurationError(f"kind={_shown(kind)} is not kafka_groups.AcknowledgeType: give {_kind_meant(kind)}")


def _kind_meant(kind: object) -> str:
    """Return the member of the enumeration that the caller probably meant, or None."""
    if isinstance(kind, str) and kind.upper() in _KINDS:
        return f"kafka_groups.AcknowledgeType.{kind.upper()}"
    if isinstance(kind, int) and not isinstance(kind, bool) and kind in _KINDS.values():
        return f"kafka_groups.AcknowledgeType.{AcknowledgeType(kind).name}"
    return "kafka_groups.AcknowledgeType.ACCEPT, RELEASE, REJECT or RENEW"


def _shown(kind: object) -> str:
    """Describe an argument, and whose it is.

    Enumerations of another client, such as confluent-kafka's, have the same names.
    """
    if not isinstance(kind, enum.Enum):
        return repr(kind)
    return f"{type(kind).__module__.partition('.')[0]}.{type(kind).__name__}.{kind.name}"


_KINDS = {kind.name: kind for kind in AcknowledgeType if kind is not AcknowledgeType.GAP}


MAX_HOLD_S = 3_600.0
"""The longest delayed release. Records that are held keep the group from finishing their partition."""


def checked_release_after(kind: AcknowledgeType, seconds: float | None) -> float | None:
    """Return after how many seconds to release a record, or None.

    Raises:
        ConfigurationError: Not a number of seconds up to an hour, or the acknowledgement is not a release.
    """
    if seconds is None:
        return None
    checked = checked_seconds(seconds, "release_after")
    if kind is not AcknowledgeType.RELEASE:
        raise ConfigurationError(f"release_after={seconds!r} goes with AcknowledgeType.RELEASE, not with {kind.name}")
    # A held record keeps the start offset where it is, and with it room in the window of the partition (KIP-932,
    # "In-flight records").
    if checked > MAX_HOLD_S:
        raise ConfigurationError(
            f"release_after={seconds!r} is too long: give {MAX_HOLD_S:.0f} seconds at most, or publish the record to a"
            " topic for retries and accept it"
        )
    return checked


def not_a_record(record: object) -> ConfigurationError:
    """Return the error for an argument that is not a record."""
    return ConfigurationError(f"record={record!r} is not a record: give one that poll() returned")


def check_callback(callback: object) -> None:
    """Check that a callback is a function, and that calling it does its work.

    Raises:
        ConfigurationError: It is neither an ordinary function of one argument nor None.
    """
    if callback is not None:
        form = "a function of one argument, or None"
        remedy = "the consumer calls it without await and ignores what it returns, so give an ordinary function"
        check_function("callback", callback, form, arguments=1, remedy=remedy)


def checked_records(records: Iterable[object]) -> Sequence[AnyRecord]:
    """Return the records of a part of a batch.

    Raises:
        ConfigurationError: It is not a collection of records.
    """
    if isinstance(records, ShareRecord | str | bytes | Mapping) or not isinstance(records, Iterable):
        raise ConfigurationError(
            f"records={records!r} is not a batch: give what poll() returned, or a list of its records"
        )
    found = []
    for record in records:
        if not isinstance(record, ShareRecord):
            raise ConfigurationError(
                f"records: {record!r} is not a record: give what poll() returned, or a list of its records"
            )
        found.append(record)
    return found


def check_renewal_target(target: object) -> None:
    """Check that the locks of an argument can be renewed.

    Raises:
        ConfigurationError: It is neither a record nor a batch nor None.
    """
    if target is not None and not isinstance(target, ShareRecord | ShareRecords):
        raise ConfigurationError(f"target={target!r} is not a record or a batch: give what poll() returned, or None")
