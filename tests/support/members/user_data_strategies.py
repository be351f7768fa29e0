"""Random subscriptions and assignments of classic groups, for property tests."""

from typing import Any, Final

from hypothesis import strategies as st

from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo
from kafka_groups.protocol.streams_user_data.host_maps import HostMaps
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK, UNKNOWN_OFFSET_SUM
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["assignment_infos", "assignments", "subscription_infos", "subscriptions"]

INT32: Final = st.integers(-(2**31), 2**31 - 1)
INT64: Final = st.integers(-(2**63), 2**63 - 1)
JAVA_TEXT: Final = st.text(st.characters(), max_size=6)
"""Java's modified UTF-8 has halves of pairs, too."""
TEXT: Final = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
TASKS: Final = st.builds(lambda group, partition: TaskId(str(group), partition), st.integers(0, 3) | INT32, INT32)
SUMS: Final = st.just(RUNNING_TASK) | st.just(UNKNOWN_OFFSET_SUM) | INT64
PARTITIONS: Final = st.lists(st.builds(TopicPartition, JAVA_TEXT, INT32), max_size=4).map(tuple)
BY_NAME: Final = st.dictionaries(TEXT, st.lists(INT32, max_size=3).map(tuple), max_size=3)
USER_DATA: Final = st.none() | st.binary(max_size=20)


def _lists(element: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(element, max_size=4).map(tuple)


def subscriptions() -> st.SearchStrategy[ConsumerProtocolSubscription]:
    """Subscriptions of versions 0 to 3, with the fields that their versions have."""
    return st.integers(0, 3).flatmap(
        lambda version: st.builds(
            ConsumerProtocolSubscription,
            topics=_lists(TEXT),
            user_data=USER_DATA,
            owned_partitions=BY_NAME if version >= 1 else st.just({}),
            generation_id=INT32 if version >= 2 else st.just(-1),
            rack_id=st.none() | TEXT if version >= 3 else st.none(),
            version=st.just(version),
        )
    )


def assignments() -> st.SearchStrategy[ConsumerProtocolAssignment]:
    """Assignments of versions 0 to 3."""
    return st.builds(
        ConsumerProtocolAssignment,
        assigned_partitions=BY_NAME,
        user_data=USER_DATA,
        version=st.integers(0, 3),
    )


def subscription_infos() -> st.SearchStrategy[SubscriptionInfo]:
    """User data of subscriptions of versions 3 to 11, in the order and with the fields that their versions have."""
    return st.integers(3, 11).flatmap(
        lambda version: st.builds(
            SubscriptionInfo,
            process_id=st.uuids(),
            version=st.just(version),
            latest_supported_version=st.integers(version, 2**31 - 1),
            task_offset_sums=_sums(version),
            user_endpoint=st.none() | TEXT.filter(bool),
            unique_field=st.integers(-128, 127) if version >= 8 else st.just(0),
            error_code=INT32 if version >= 9 else st.just(0),
            client_tags=_lists(st.tuples(TEXT, TEXT)) if version >= 11 else st.just(()),
        )
    )


def assignment_infos() -> st.SearchStrategy[AssignmentInfo]:
    """User data of assignments of versions 3 to 11, with the fields that their versions have."""
    hosts = _lists(st.tuples(st.tuples(JAVA_TEXT, INT32), PARTITIONS))
    return st.integers(3, 11).flatmap(
        lambda version: st.builds(
            AssignmentInfo,
            version=st.just(version),
            commonly_supported_version=INT32,
            active_tasks=_lists(TASKS),
            standby_tasks=_lists(st.tuples(TASKS, PARTITIONS)),
            host_maps=st.builds(HostMaps, hosts, hosts if version >= 6 else st.just(())),
            error_code=INT32 if version >= 4 else st.just(0),
            next_rebalance_ms=st.none() | INT64.filter(lambda ms: ms < 2**63 - 1) if version >= 7 else st.none(),
        )
    )


def _sums(version: int) -> st.SearchStrategy[Any]:
    sums = _lists(st.tuples(TASKS, SUMS))
    if version < 7:
        return sums.map(_only_kinds)
    return sums if version >= 10 else sums.map(_together)


def _only_kinds(sums: tuple[tuple[TaskId, int], ...]) -> tuple[tuple[TaskId, int], ...]:
    running = tuple((task, total) for task, total in sums if total == RUNNING_TASK)
    return running + tuple((task, UNKNOWN_OFFSET_SUM) for task, total in sums if total != RUNNING_TASK)


def _together(sums: tuple[tuple[TaskId, int], ...]) -> tuple[tuple[TaskId, int], ...]:
    return tuple(sorted(sums, key=lambda each: int(each[0].subtopology_id)))
