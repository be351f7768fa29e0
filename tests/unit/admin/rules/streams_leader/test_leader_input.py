"""The input of an assignment, from what members have sent."""

from typing import Any

import pytest
from attrs import evolve

from kafka_groups.admin.rules.streams_leader.group_round import LeadingError
from kafka_groups.admin.rules.streams_leader.leader_input import leader_input
from kafka_groups.assignment import ProcessId
from kafka_groups.assignment.application.neutral import ApplicationInput, application_state
from kafka_groups.assignment.application.states import KafkaStreamsState
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from tests.support.assignors.leader_cases import LeaderCase
from tests.unit.admin.rules.streams_leader.scenes import NOW_MS, A, asked, group, member, tasks

ZERO, ONE, TWO = tasks("0_0", "1_0", "1_1")


def given(case: LeaderCase, **instance_ids: str) -> ApplicationInput:
    round_ = asked(case)
    return leader_input(
        evolve(round_.given, instance_ids=instance_ids), round_.subscriptions, round_.tasks, round_.ends, NOW_MS
    )


def process(*members: Any, **more: Any) -> KafkaStreamsState:
    state = application_state(given(group(*members, **more)))
    return state.kafka_streams_states(compute_task_lags=True)[ProcessId(A)]


def test_tasks_of_owned_partitions_and_running_ones_were_active() -> None:
    found = process(member("m", A, ZERO, sums=((ONE, RUNNING_TASK), (TWO, 4))))
    assert list(found.previous_active_tasks) == [ZERO, ONE]
    assert list(found.previous_standby_tasks) == [TWO]


def test_an_owned_task_that_is_restored_was_active_and_lacks_records() -> None:
    found = process(member("m", A, ONE, sums=((ONE, 4),)), ends={"app-counts-changelog": (10, 0)})
    assert (list(found.previous_active_tasks), found.lag_for(ONE)) == ([ONE], 6)


def test_of_two_reports_in_a_process_the_last_one_counts() -> None:
    """In the order of Java's hash table, which has `aa` before `a`."""
    ends = {"app-counts-changelog": (10, 0)}
    found = process(member("a", sums=((ONE, 1),)), member("aa", sums=((ONE, 2),)), ends=ends)
    assert found.lag_for(ONE) == 9


def test_only_reported_tasks_count_when_tasks_are_spread_over_threads() -> None:
    found = process(member("m", A, ONE, sums=((TWO, 4),)))
    assert list(found.prev_tasks_by_lag("m")) == [TWO]


def test_a_process_has_the_endpoint_of_the_member_that_java_meets_first() -> None:
    found = process(member("a", endpoint="a:1"), member("aa", endpoint="aa:2"))
    assert found.host_info == ("aa", 2)


def test_tags_are_those_of_the_member_that_java_meets_first() -> None:
    found = process(member("a", tags={"zone": "a"}), member("aa", tags={"zone": "aa"}))
    assert dict(found.client_tags) == {"zone": "aa"}
    assert process(member("a", tags={"zone": "a"}, version=10)).client_tags == {}


@pytest.mark.parametrize(
    ("racks", "rack"), [(("r", "r"), "r"), (("r", "s"), None), (("r", None), None), (("", None), None), (("r",), "r")]
)
def test_a_process_has_a_rack_if_its_members_agree(racks: tuple[str | None, ...], rack: str | None) -> None:
    assert process(*(member(f"m{number}", rack=each) for number, each in enumerate(racks))).rack_id == rack


@pytest.mark.parametrize(
    ("endpoint", "host"),
    [("h:80", ("h", 80)), ("http://h:80", ("h", 80)), ("[::1]:80", ("::1", 80)), ("h-1.x_y:99999", ("h-1.x_y", 99999))],
)
def test_endpoints(endpoint: str, host: tuple[str, int]) -> None:
    assert process(member("m", endpoint=endpoint)).host_info == host


@pytest.mark.parametrize("endpoint", ["h", "h:", "h:port", ":"])
def test_an_endpoint_that_is_none_names_its_member(endpoint: str) -> None:
    with pytest.raises(LeadingError, match=f"member m is '{endpoint}'"):
        given(group(member("m", endpoint=endpoint)))


def test_static_members_have_their_ids() -> None:
    assert given(group(member("m")), m="static-1").members["m"].instance_id == "static-1"
