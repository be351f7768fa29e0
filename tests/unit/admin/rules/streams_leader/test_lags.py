"""The ends of changelogs, and how far processes are behind them."""

from attrs import evolve

from kafka_groups.admin.rules.group_topology.group_topology import ChangelogTopic, GroupTopology, Subtopology
from kafka_groups.admin.rules.streams_leader.lags import ChangelogEnds, lags_of_processes
from kafka_groups.assignment import ProcessId
from kafka_groups.assignment.application.states import ACTIVE_LAG, UNKNOWN_LAG
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK, UNKNOWN_OFFSET_SUM
from kafka_groups.types import TaskId
from tests.unit.admin.rules.streams_leader.scenes import COUNTS, IN, WORDS, A, asked, group, member, tasks

ONE, TWO = tasks("1_0", "1_1")
CHANGELOGS = (ChangelogTopic("app-c"), ChangelogTopic("app-d"), ChangelogTopic("a"))
STORES = GroupTopology((Subtopology(subtopology_id="0", source_topics=("a", "b"), changelogs=CHANGELOGS),))


def test_the_ends_of_a_tasks_changelogs_are_added() -> None:
    case = group(
        member("m"),
        topology=STORES,
        counts={"a": 1, "b": 2, "app-c": 2, "app-d": 2},
        ends={"app-c": (10, 20), "app-d": (1, 2)},
        committed={"a": (300,)},
    )
    assert asked(case).ends == ChangelogEnds({TaskId("0", 0): 311, TaskId("0", 1): 22})


def test_a_source_that_is_a_changelog_ends_where_the_group_has_committed() -> None:
    case = group(member("m"), topology=STORES, counts={"a": 1, "b": 1}, committed={"a": (None,)})
    assert asked(case).ends == ChangelogEnds({TaskId("0", 0): 0})


def test_topics_that_were_just_created_are_empty_and_not_asked_about() -> None:
    case = group(member("m"), counts={IN: 2})
    topics = case.topics
    assert asked(case, topics).ends == ChangelogEnds({ONE: 0, TWO: 0})
    assert ApiKey.LIST_OFFSETS not in topics.asked


def test_ends_that_are_not_found_are_unknown() -> None:
    case = group(member("m"))
    topics = evolve(case.topics, errors={ApiKey.LIST_OFFSETS: {COUNTS: ErrorCode.REQUEST_TIMED_OUT}})
    ends = asked(case, topics).ends
    assert ends.sums is None
    assert str(ends.failure) == f"REQUEST_TIMED_OUT: {COUNTS}-0"


def test_offsets_that_are_not_found_are_unknown() -> None:
    case = group(member("m"), topology=STORES, counts={"a": 1, "b": 1}, committed={"a": (3,)})
    topics = evolve(case.topics, errors={ApiKey.OFFSET_FETCH: {"a": ErrorCode.UNSTABLE_OFFSET_COMMIT}})
    assert asked(case, topics).ends.sums is None


def lag(offset_sum: int | None, end: int | None) -> int:
    reports = {ProcessId(A): {} if offset_sum is None else {ONE: offset_sum}}
    ends = ChangelogEnds(None if end is None else {ONE: end})
    return lags_of_processes(ends, reports, [ONE])[ProcessId(A)][ONE]


def test_lags() -> None:
    assert lag(None, 10) == 10  # no state
    assert lag(4, 10) == 6
    assert lag(10, 10) == 0
    assert lag(11, 10) == 10  # of a topic that was made again
    assert lag(RUNNING_TASK, 10) == ACTIVE_LAG
    assert lag(UNKNOWN_OFFSET_SUM, 10) == UNKNOWN_LAG


def test_lags_without_ends() -> None:
    assert lag(RUNNING_TASK, None) == ACTIVE_LAG
    assert lag(4, None) == lag(None, None) == UNKNOWN_LAG


def test_stateless_tasks_have_no_ends() -> None:
    assert (asked(group(member("m"))).ends.sums or {}).keys() == {ONE, TWO}
    assert {each.topic_partition.topic for each in asked(group(member("m"))).tasks[ONE].topic_partitions} == {
        WORDS,
        COUNTS,
    }
