"""The metrics of workers and tasks: Kafka's names, groups and tags, and the values in a life that is known."""

import json
import math
import pickle
from collections import Counter

import pytest

from kafka_groups.streams import StreamsBuilder, StreamsMetric, StreamsState, serdes
from kafka_groups.streams.processors.extractors import skip_invalid
from kafka_groups.streams.workers.absent_metrics import absent_names
from kafka_groups.streams.workers.application_metrics import (
    METRIC_GROUPS,
    ApplicationSources,
    WorkerSources,
    application_metrics,
    worker_metrics,
)
from tests.recording.java_streams_metrics import GOLDEN
from tests.support.fake_kafka import FakeKafka
from tests.unit.streams.runtime.counting import CHANGELOG, Process, brokers, restored

JAVA = json.loads(GOLDEN.read_text(encoding="utf-8"))
"""The metrics of Kafka Streams 4.3.1: word count, a suppressed windowed count and a global table, all in memory."""

NOT_HERE = {"process-id", "application-id"}
WORKER = "app-StreamThread-1"


def measured(process: Process, state: StreamsState = StreamsState.RUNNING) -> tuple[StreamsMetric, ...]:
    worker = process.worker
    return worker_metrics(
        WorkerSources(
            thread_id=WORKER,
            state=state,
            tasks=tuple(worker.tasks.values()),
            stores=worker.stores,
            sensors=worker.sensors,
            is_paused=worker.is_paused,
            member={"tasks-assigned-latency-max": 7.0},
            now_ms=process.clock.now_ms(),
        )
    )


def values(process: Process, group: str, **tags: str) -> dict[str, float | str]:
    """The values of a group's metrics by name, of those with these tags."""
    wanted = {name.replace("_", "-"): value for name, value in tags.items()}.items()
    found = [each for each in measured(process) if each.group == group and wanted <= each.tags.items()]
    return {each.name: each.value for each in found}


def with_words(count: int) -> FakeKafka:
    kafka = brokers()
    for at in range(count):
        kafka.produce("words", f"word{at % 4}", "", timestamp_ms=at)
    return kafka


async def counted(kafka: FakeKafka, count: int) -> Process:
    process = Process(kafka)
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running and process.has_committed(count))
    return process


def test_every_name_of_kafka_streams_is_here_or_said_to_be_absent() -> None:
    java = {(group, each["name"]) for group, metrics in JAVA.items() for each in metrics}
    here = [(group, each.name) for group, metrics in METRIC_GROUPS.items() for each in metrics]
    absent = [(group, name) for group, name, _ in absent_names()]
    assert [each for each, times in Counter(here + absent).items() if times > 1] == []
    assert {*here, *absent} == java


async def test_tags_are_those_of_kafka_streams() -> None:
    process = await counted(with_words(3), 3)
    sources = ApplicationSources(
        client_id="me",
        application_id="app",
        state=StreamsState.RUNNING,
        topology="",
        is_debugging=False,
        alive=1,
        failed=0,
    )
    metrics = [*application_metrics(sources), *measured(process)]
    java = {(group, each["name"], frozenset(each["tags"]) - NOT_HERE) for group in JAVA for each in JAVA[group]}
    assert {(each.group, each.name, frozenset(each.tags)) for each in metrics} - java == set()
    assert {each.group for each in metrics} == METRIC_GROUPS.keys()


async def test_the_figures_of_a_known_life() -> None:
    process = await counted(with_words(100), 100)
    worker = values(process, "stream-thread-metrics", thread_id=WORKER)
    assert worker["process-total"] == 100
    assert worker["process-records-max"] == 100
    assert worker["commit-total"] == 1
    assert worker["poll-records-max"] == 100
    assert worker["poll-total"] == 1
    assert (worker["task-created-total"], worker["task-closed-total"]) == (1, 0)
    assert worker["tasks-assigned-latency-max"] == 7
    assert isinstance(worker["tasks-lost-latency-max"], float)
    assert math.isnan(worker["tasks-lost-latency-max"])
    assert (worker["state"], worker["thread-state"]) == ("RUNNING", 4)
    assert worker["punctuate-total"] == 0

    task = values(process, "stream-task-metrics", task_id="0_0")
    assert (task["process-total"], task["active-buffer-count"], task["dropped-records-total"]) == (100, 0, 0)
    topic = values(process, "stream-topic-metrics", topic="words", processor_node_id="KSTREAM-SOURCE-0000000000")
    assert topic == {"records-consumed-total": 100, "bytes-consumed-total": 0}
    assert values(process, "stream-state-metrics", in_memory_state_id="counts") == {"num-keys": 4}


async def test_polls_take_the_time_between_turns_and_processing_that_of_functions() -> None:
    builder = StreamsBuilder()
    words = builder.stream("words", key=serdes.string, value=serdes.string)
    words.foreach(lambda _key, _value: process.clock.advance(50))
    process = Process(with_words(10), topology=builder.build())
    process.member.assign("0_0")
    await process.worker.start()
    process.clock.advance(500)
    for _ in range(5):
        await process.worker.turn()
    worker = values(process, "stream-thread-metrics")
    assert worker["process-latency-avg"] == 50
    assert worker["process-ratio"] == pytest.approx(0.5)
    assert worker["poll-ratio"] == pytest.approx(0.5)
    task = values(process, "stream-task-metrics", task_id="0_0")
    assert task["process-latency-max"] == 50
    assert task["active-process-ratio"] == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("is_debugging", [False, True])
async def test_single_records_are_measured_at_the_level_debug(is_debugging: bool) -> None:
    kafka = brokers()
    kafka.produce("words", "new", "", timestamp_ms=100)
    kafka.produce("words", "old", "", timestamp_ms=40)
    process = Process(kafka, is_debugging=is_debugging)
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.has_committed(2))
    topic = values(process, "stream-topic-metrics")
    node = values(process, "stream-processor-node-metrics", processor_node_id="KSTREAM-SOURCE-0000000000")
    lateness = values(process, "stream-task-metrics")["record-lateness-max"]
    assert topic["records-consumed-total"] == 2
    if is_debugging:
        assert lateness == 60
        assert topic["bytes-consumed-total"] == 2 * (len("words") + 3 + 20)
        assert float(node["record-e2e-latency-max"]) - float(node["record-e2e-latency-min"]) == 60
        assert float(node["record-e2e-latency-max"]) - float(node["record-e2e-latency-avg"]) == 30
    else:
        assert topic["bytes-consumed-total"] == 0
        assert all(math.isnan(float(each)) for each in (lateness, *node.values()))
    assert restored(kafka) == {"new": 1, "old": 1}


async def test_dropped_records_are_counted() -> None:
    builder = StreamsBuilder()
    builder.stream("words", key=serdes.string, value=serdes.string, timestamp=skip_invalid).to("totals")
    kafka = brokers()
    kafka.produce("words", "late", "", timestamp_ms=-1)
    kafka.produce("words", "good", "", timestamp_ms=1)
    process = Process(kafka, topology=builder.build())
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.has_committed(2))
    task = values(process, "stream-task-metrics", task_id="0_0")
    assert (task["dropped-records-total"], task["process-total"]) == (1, 1)
    assert task["dropped-records-rate"] == pytest.approx(1 / 30, rel=0.1)


async def test_tasks_that_are_restored_and_given_up() -> None:
    kafka = with_words(8)
    await counted(kafka, 8)
    process = Process(kafka)
    process.member.assign("0_0")
    process.worker.is_paused = True
    await process.worker.start()
    for _ in range(3):
        await process.worker.turn()
    left = len(kafka.values(CHANGELOG))
    assert left == 4
    assert values(process, "stream-task-metrics")["restore-remaining-records-total"] == left
    assert values(process, "stream-state-updater-metrics")["active-paused-tasks"] == 1
    process.worker.is_paused = False
    await process.turn_until(lambda: process.worker.is_running)
    assert values(process, "stream-task-metrics")["restore-remaining-records-total"] == 0
    updater = values(process, "stream-state-updater-metrics", thread_id="app-StateUpdater-1")
    assert (updater["active-paused-tasks"], updater["active-restoring-tasks"]) == (0, 0)
    assert updater["restore-records-rate"] == pytest.approx(left / 30, rel=0.3)
    process.member.revoke("0_0")
    await process.turn_until(lambda: not process.worker.tasks)
    assert values(process, "stream-thread-metrics")["task-closed-total"] == 1
    assert values(process, "stream-task-metrics") == {}


async def test_standby_tasks_have_metrics_of_their_stores_only() -> None:
    kafka = with_words(4)
    await counted(kafka, 4)
    process = Process(kafka)
    process.member.assign(standby=["0_0"])
    await process.worker.start()
    await process.turn_until(lambda: values(process, "stream-state-metrics") == {"num-keys": 4})
    assert values(process, "stream-state-updater-metrics")["standby-updating-tasks"] == 1
    assert values(process, "stream-task-metrics") == {}


async def test_metrics_reach_another_process() -> None:
    metrics = measured(await counted(with_words(3), 3))
    received = pickle.loads(pickle.dumps(metrics))
    assert [(each.name, each.tags) for each in received] == [(each.name, each.tags) for each in metrics]


@pytest.mark.parametrize(
    ("state", "number"), [(StreamsState.REBALANCING, 1), (StreamsState.RUNNING, 2), (StreamsState.ERROR, 6)]
)
def test_the_process_has_its_state_and_its_workers(state: StreamsState, number: int) -> None:
    sources = ApplicationSources(
        client_id="me", application_id="app", state=state, topology="text", is_debugging=True, alive=2, failed=1
    )
    found = {each.name: each.value for each in application_metrics(sources)}
    assert (found["state"], found["client-state"]) == (state.name, number)
    assert (found["alive-stream-threads"], found["failed-stream-threads"]) == (2, 1)
    assert (found["application-id"], found["topology-description"]) == ("app", "text")
    assert found["recording-level"] == 1
