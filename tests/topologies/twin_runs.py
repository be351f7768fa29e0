"""Runs scripts on the Python twins of Java's topologies, and compares what comes out of both."""

import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.streams import ErrorResponse
from kafka_groups.streams.processors.stateless import DropNullKeys
from kafka_groups.streams.state.key_value import KeyValueState
from kafka_groups.streams.state.session_stores import SessionState
from kafka_groups.streams.state.window_stores import WindowState
from kafka_groups.streams.topology.nodes import ProcessorNode, TopologyNode
from kafka_groups.testing.topology_driver import TopologyTestDriver
from tests.topologies.allowed import javas_subscriptions, javas_versions
from tests.topologies.catalogue import Twin
from tests.topologies.scripts import Advance, Output, Pipe, Restart, Run, Script, Step, StoreContents

__all__ = ["differences", "run_twin"]


def run_twin(
    twin: Twin,
    script: Script,
    *,
    is_cached: bool,
    wall_ms: int = 0,
    dead_letter_topic: str | None = None,
    does_as_java: bool = True,
) -> Run:
    """Run a script as `JavaOracle.run` does.

    Args:
        twin: The topology.
        script: What to do.
        is_cached: Whether stores have caches.
        wall_ms: Where the wall clock starts.
        dead_letter_topic: The topic to which all records that fail are written, or None.
        does_as_java: Whether inner foreign-key joins ask for as few answers as Java's, and versioned stores log and
            restore what Java's do, so that the rest can be compared.
    """
    with ExitStack() as ways:
        if does_as_java:
            ways.enter_context(javas_subscriptions())
            ways.enter_context(javas_versions())
        return _run(twin, script, is_cached=is_cached, wall_ms=wall_ms, dead_letter_topic=dead_letter_topic)


def _run(twin: Twin, script: Script, *, is_cached: bool, wall_ms: int, dead_letter_topic: str | None) -> Run:
    driver = _RecordingDriver(twin, is_cached=is_cached, wall_ms=wall_ms, dead_letter_topic=dead_letter_topic)
    failed_step, error = None, ""
    for number, step in enumerate(script):
        driver.step = number
        try:
            driver.take(step)
        except KafkaGroupsError as raised:
            failed_step, error = number, str(raised)
            break
    return Run(
        outputs=tuple(driver.recorded),
        stores=driver.contents(),
        dropped=driver.dropped(),
        failed_step=failed_step,
        error=(error,) if error else (),
    )


class _RecordingDriver(TopologyTestDriver):
    """A driver that keeps all records in the order in which they were written, with their steps."""

    def __init__(self, twin: Twin, *, is_cached: bool, wall_ms: int, dead_letter_topic: str | None) -> None:
        self.recorded: list[Output] = []
        self.step = 0
        self._dropped_before = 0
        arguments: dict[str, Any] = {} if is_cached else {"statestore_cache_max_bytes": 0}
        if twin.resumes:
            arguments["processing_exception_handler"] = lambda *_: ErrorResponse.RESUME
        if twin.skips_unreadable:
            arguments["deserialization_exception_handler"] = lambda *_: ErrorResponse.RESUME
        if dead_letter_topic is not None:
            arguments["errors_dead_letter_queue_topic_name"] = dead_letter_topic
            for stage in ("deserialization", "processing"):
                arguments[f"{stage}_exception_handler"] = lambda *_: ErrorResponse.DEAD_LETTER
        super().__init__(twin.build(), application_id="app", wall_ms=wall_ms, **arguments)

    def take(self, step: Step) -> None:
        """Do what a step says."""
        match step:
            case Pipe():
                self._match(step.topic)
                self._pipe(step.topic, step.key, step.value, step.timestamp_ms, step.headers, 0)
            case Advance():
                self.advance_wall_clock(timedelta(milliseconds=step.by_ms))
            case Restart():
                self._restart_as_java()
            case _:
                raise NotImplementedError(step)

    def _restart_as_java(self) -> None:
        """Restart without the times of operators, which Java does not keep (decision 0025)."""
        self._dropped_before = self.dropped()
        self.close()
        self._start()

    def send(  # noqa: PLR0917 - the parts of a record
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Any,
        partition: int | None,
        later: object = None,
    ) -> None:
        self.recorded.append(Output(self.step, topic, partition, key, value, timestamp_ms, headers))
        super().send(topic, key, value, timestamp_ms, headers, partition)

    def log(self, topic: str, partition: int, records: Iterable[Any]) -> None:
        found = list(records)
        for key, value, timestamp_ms, *_ in found:
            self.recorded.append(Output(self.step, topic, partition, key, value, timestamp_ms))
        super().log(topic, partition, found)

    def dropped(self) -> int:
        """How many records were dropped, without those in front of repartition topics, which Java does not count."""
        nodes = self._topology.graph.nodes
        counted = (count for name, count in self.dropped_records.items() if not _drops_null_keys(nodes.get(name)))
        return self._dropped_before + sum(counted)

    def contents(self) -> dict[str, StoreContents]:
        """The bytes of the stores, but for buffers."""
        states = [state for task in self._tasks for state in task.states.values()]
        return {state.name: _contents(state) for state in states if isinstance(state, _READABLE)}


def _drops_null_keys(node: TopologyNode | None) -> bool:
    return isinstance(node, ProcessorNode) and isinstance(node.operator, DropNullKeys)


_NO_END = (1 << 63) - 1
_READABLE = (KeyValueState, WindowState, SessionState)


def _contents(state: KeyValueState | WindowState | SessionState) -> StoreContents:
    match state:
        case KeyValueState():
            return StoreContents("key_value", tuple(state._table.scan(b"", None)))
        case WindowState():
            size_ms = state.definition.size_ms
            windows = (
                (each.key, each.start_ms, min(each.start_ms + size_ms, _NO_END), each.stored) for each in state.all()
            )
            return StoreContents("window", tuple(windows))
        case SessionState():
            sessions = ((each.key, each.window.start_ms, each.window.end_ms, each.stored) for each in state.all())
            return StoreContents("session", tuple(sessions))


# ------------------------------------------------------------------------------------------------------------ comparing


def differences(java: Run, python: Run) -> list[str]:
    """What differs between both.

    Compared are the records of each topic and step with their order, the last changelog record of each key and step,
    the stores at the end, and the step that failed.
    """
    found = []
    if java.failed_step != python.failed_step:
        found.append(f"failed step: Java {java.failed_step} {java.error}, Python {python.failed_step} {python.error}")
    steps = min(each for each in (java.failed_step, python.failed_step, 1 << 62) if each is not None)
    ours, theirs = _results(python, steps), _results(java, steps)
    found += list(_different("records", theirs, ours))
    found += list(_different("changelog", _changelogs(java, steps), _changelogs(python, steps)))
    if java.failed_step is None and python.dropped != java.dropped:
        found.append(f"dropped: Java {java.dropped}, Python {python.dropped}")
    if java.failed_step is None:
        found += list(_different("store", _stores(java), _stores(python)))
    return found


def _stores(run: Run) -> dict[str, Any]:
    return {name: sorted(_entry(each, entry) for entry in each.entries) for name, each in run.stores.items()}


def _entry(store: StoreContents, entry: tuple[bytes | int, ...]) -> tuple[bytes | int, ...]:
    """An entry without what Java's stores of joins keep in front of a value, the start of its window."""
    *place, value = entry
    if store.kind != "window":
        return entry
    start = struct.pack(">q", place[1])
    return (*place, value.removeprefix(start) if isinstance(value, bytes) else value)


def _different(what: str, java: Mapping[Any, Any], python: Mapping[Any, Any]) -> Iterator[str]:
    for key in sorted({*java, *python}, key=str):
        if java.get(key) != python.get(key):
            yield f"{what} {key}: Java {java.get(key)}, Python {python.get(key)}"


def _results(run: Run, steps: int) -> dict[tuple[int, str], list[Any]]:
    found: dict[tuple[int, str], list[Any]] = {}
    for each in run.outputs:
        if not each.is_changelog and each.step < steps:
            record = (each.key, each.value, each.timestamp_ms, each.headers, each.partition or 0)
            found.setdefault((each.step, each.topic), []).append(record)
    return found


def _changelogs(run: Run, steps: int) -> dict[tuple[int, str, bytes | None], Any]:
    return {
        (each.step, each.topic, each.key): (each.value, each.timestamp_ms)
        for each in run.outputs
        if each.is_changelog and each.step < steps
    }
