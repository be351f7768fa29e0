"""An assignor that changes its input gets an error that names the attribute."""

import copy
import pickle
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.assignment import ApplicationState, AssignmentConfigs, KafkaStreamsState, ProcessId, TaskInfo
from kafka_groups.assignment.application.read_only import ReadOnlyMapping
from kafka_groups.assignment.application.tasks import TaskTopicPartition
from kafka_groups.types import TaskId, TopicPartition

TASK = TaskId("0", 0)
PARTITION = TaskTopicPartition(TopicPartition("in", 0), is_source=True, is_changelog=False)
INFO = TaskInfo(TASK, is_stateful=True, topic_partitions=(PARTITION,))
PROCESS = KafkaStreamsState(
    process_id=ProcessId("p"), consumer_client_ids=("m",), client_tags={"zone": "a"}, lags={TASK: 7}
)
STATE = ApplicationState(
    {TASK: INFO}, AssignmentConfigs(), datetime(2026, 1, 1, tzinfo=UTC), lambda _lags: {PROCESS.process_id: PROCESS}
)


def processes() -> Any:
    return STATE.kafka_streams_states(compute_task_lags=True)


@pytest.mark.parametrize(
    ("mapping", "name"),
    [
        (lambda: STATE.all_tasks, "ApplicationState.all_tasks"),
        (processes, "ApplicationState.kafka_streams_states()"),
        (lambda: PROCESS.client_tags, "KafkaStreamsState.client_tags"),
        (PROCESS.stateful_tasks_to_lag_sums, "KafkaStreamsState.stateful_tasks_to_lag_sums()"),
    ],
)
def test_the_error_of_a_mapping_names_it(mapping: Callable[[], Any], name: str) -> None:
    before = dict(mapping())
    with pytest.raises(TypeError) as raised:
        mapping()[next(iter(before))] = None
    assert str(raised.value) == f"{name} is read-only. Change a copy of it: dict(…)."
    assert mapping() == before


@pytest.mark.parametrize(
    "change",
    [
        lambda each: each.__delitem__("a"),
        lambda each: each.__ior__({"b": 2}),
        lambda each: each.clear(),
        lambda each: each.pop("a"),
        lambda each: each.popitem(),
        lambda each: each.setdefault("b", 2),
        lambda each: each.update(b=2),
    ],
)
def test_no_way_to_change_a_mapping_is_left(change: Callable[[Any], object]) -> None:
    mapping = ReadOnlyMapping("it", {"a": 1})
    with pytest.raises(TypeError, match="it is read-only"):
        change(mapping)
    assert mapping == {"a": 1}


def test_copies_of_a_mapping() -> None:
    mapping = ReadOnlyMapping("it", {"a": [1]})
    for each in (dict(mapping), mapping.copy(), mapping | {}):
        each["b"] = [2]
    for same in (copy.copy(mapping), copy.deepcopy(mapping), pickle.loads(pickle.dumps(mapping))):
        assert same == mapping == {"a": [1]}
        with pytest.raises(TypeError, match="it is read-only"):
            same["b"] = [2]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (STATE, "all_tasks"),
        (STATE, "now"),
        (PROCESS, "previous_active_tasks"),
        (INFO, "is_stateful"),
        (PARTITION, "is_source"),
        (STATE.assignment_configs, "num_standby_replicas"),
    ],
)
def test_the_error_of_an_attribute_names_it(value: Any, name: str) -> None:
    text = rf"{type(value).__name__}\.{name} is read-only\."
    with pytest.raises(AttributeError, match=text):
        setattr(value, name, None)
    with pytest.raises(AttributeError, match=text):
        delattr(value, name)


def test_values_are_made_and_copied_as_before() -> None:
    assert evolve(INFO, is_stateful=False) != INFO
    for each in (PROCESS, INFO, PARTITION, STATE.assignment_configs):
        assert copy.copy(each) == each
