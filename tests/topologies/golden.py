"""Golden files: what Java's driver said about each topology, for machines without Java.

A file for each topology of the catalogue, with its description, its heartbeat and a script with what came out of it:
without caches, and with them if that differs. `python -m tests.topologies.golden` records all of them again.

Bytes are written as text if they are printable ASCII, in base64 behind `b64:` otherwise. Instead of a topic's name,
outputs have its number in the file's list of topics.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from tests.support.kafka.kafka_classpath import driver_classpath
from tests.topologies.oracle import CACHED, UNCACHED, Description, JavaOracle, RefusedTopologyError
from tests.topologies.scripts import Advance, Headers, Output, Pipe, Run, Step, StoreContents, script_for

__all__ = ["DIRECTORY", "REAL_CLOCK", "Golden", "ask", "golden_names", "read_golden", "write_golden"]

DIRECTORY = Path(__file__).parent / "golden"

REAL_CLOCK = frozenset({"timestamps_wall_clock"})
"""Topologies whose records have times of the system's clock, as Java's driver gives its own to punctuators alone."""

_SEED, _RECORDS = 6, 8  # with this seed, records meet the bounds of windows
_VERSIONED_SEED, _VERSIONED_RECORDS = 7, 36  # with these, joins and groups get versions that are out of order
_ENCODED = "b64:"


@frozen(kw_only=True)
class Golden:
    """What Java says about a topology.

    Attributes:
        refused: The exceptions with which Kafka Streams refuses to build the topology; nothing else is there then.
        description: What it looks like.
        script: What the runs were told to do.
        uncached: What came out without caches.
        cached: What came out with caches.
    """

    refused: tuple[str, ...] = ()
    description: Description | None = None
    script: tuple[Step, ...] = ()
    uncached: Run | None = None
    cached: Run | None = None


def golden_names() -> list[str]:
    """The names of the topologies that have a golden file."""
    return sorted(path.stem for path in DIRECTORY.glob("*.json"))


def ask(oracle: JavaOracle, name: str) -> Golden:
    """What Java says about a topology today."""
    try:
        description = oracle.describe(name)
    except RefusedTopologyError as refusal:
        return Golden(refused=refusal.chain)
    is_versioned = name.startswith("versioned_")
    seed, records = (_VERSIONED_SEED, _VERSIONED_RECORDS) if is_versioned else (_SEED, _RECORDS)
    script = script_for(name, seed, description.inputs, records + 4 * len(description.inputs))
    runs = [_comparable(name, oracle.run(name, script, config)) for config in (UNCACHED, CACHED)]
    return Golden(description=description, script=script, uncached=runs[0], cached=runs[1])


def _comparable(name: str, run: Run) -> Run:
    if name in REAL_CLOCK:
        run = evolve(run, outputs=tuple(evolve(each, timestamp_ms=None) for each in run.outputs))
    return evolve(run, elapsed_ns=0, processor_ns=0, outputs=tuple(_sorted_suppressions(run.outputs)))


def _sorted_suppressions(outputs: tuple[Output, ...]) -> Iterator[Output]:
    """Outputs with the changelog records of a suppression at the end of their step, as they come in a random order."""
    for step in sorted({each.step for each in outputs}):
        mine = [each for each in outputs if each.step == step]
        yield from (each for each in mine if not _is_of_suppression(each))
        yield from sorted((each for each in mine if _is_of_suppression(each)), key=lambda each: (each.topic, each.key))


def _is_of_suppression(output: Output) -> bool:
    return output.is_changelog and output.timestamp_ms is None


# ---------------------------------------------------------------------------------------------------------------- files


def read_golden(name: str) -> Golden:
    """The golden file of a topology."""
    found = json.loads((DIRECTORY / f"{name}.json").read_text(encoding="utf-8"))
    if "refused" in found:
        return Golden(refused=tuple(found["refused"]))
    description = Description(
        text="\n".join(found["description"]), inputs=tuple(found["inputs"]), heartbeat=found["heartbeat"]
    )
    topics = found["topics"]
    uncached = _read_run(found["uncached"], topics)
    return Golden(
        description=description,
        script=tuple(_read_step(each) for each in found["script"]),
        uncached=uncached,
        cached=_read_run(found["cached"], topics) if "cached" in found else uncached,
    )


def write_golden(name: str, golden: Golden) -> None:
    """Write the golden file of a topology, with an entry a line."""
    DIRECTORY.mkdir(exist_ok=True)
    lines = [f"{json.dumps(key)}: {_text(value)}" for key, value in _fields(golden)]
    (DIRECTORY / f"{name}.json").write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")


def _fields(golden: Golden) -> Iterator[tuple[str, Any]]:
    if golden.description is None or golden.uncached is None or golden.cached is None:
        yield "refused", golden.refused
        return
    yield "description", golden.description.text.split("\n")
    yield "inputs", golden.description.inputs
    yield "heartbeat", golden.description.heartbeat
    yield "script", [_written_step(each) for each in golden.script]
    topics = sorted({each.topic for run in (golden.uncached, golden.cached) for each in run.outputs})
    yield "topics", topics
    yield "uncached", _written_run(golden.uncached, topics)
    if golden.cached != golden.uncached:
        yield "cached", _written_run(golden.cached, topics)


def _text(value: Any) -> str:
    """JSON, with each element of a list on its own line."""
    if isinstance(value, list):
        return "[\n" + ",\n".join(_compact(each) for each in value) + "]"
    if isinstance(value, dict) and "outputs" in value:
        return "{" + ",\n".join(f"{json.dumps(key)}: {_text(each)}" for key, each in value.items()) + "}"
    return _compact(value)


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _written_step(step: Step) -> list[Any]:
    if isinstance(step, Pipe):
        written = ["pipe", step.topic, _written(step.key), _written(step.value), step.timestamp_ms]
        return [*written, _written_headers(step.headers)] if step.headers else written
    assert isinstance(step, Advance)
    return ["advance", step.by_ms]


def _read_step(found: list[Any]) -> Step:
    if found[0] == "advance":
        return Advance(found[1])
    topic, key, value, timestamp_ms, *headers = found[1:]
    return Pipe(topic, _read(key), _read(value), timestamp_ms, *map(_read_headers, headers))


def _written_run(run: Run, topics: list[str]) -> dict[str, Any]:
    written: dict[str, Any] = {"outputs": [_written_output(each, topics) for each in run.outputs]}
    written["stores"] = {name: _written_store(each) for name, each in run.stores.items()}
    written["dropped"] = run.dropped
    if run.failed_step is not None:
        written["failed"] = [run.failed_step, *run.error]
    return written


def _read_run(found: Mapping[str, Any], topics: list[str]) -> Run:
    failed_step, *error = found.get("failed", (None,))
    return Run(
        outputs=tuple(_read_output(each, topics) for each in found["outputs"]),
        stores={name: _read_store(each) for name, each in found["stores"].items()},
        dropped=found["dropped"],
        failed_step=failed_step,
        error=tuple(error),
    )


def _written_output(output: Output, topics: list[str]) -> list[Any]:
    key, value, topic = _written(output.key), _written(output.value), topics.index(output.topic)
    written = [output.step, topic, output.partition, key, value, output.timestamp_ms]
    return [*written, _written_headers(output.headers)] if output.headers else written


def _read_output(found: list[Any], topics: list[str]) -> Output:
    step, topic, partition, key, value, timestamp_ms, *headers = found
    return Output(step, topics[topic], partition, _read(key), _read(value), timestamp_ms, *map(_read_headers, headers))


def _written_store(store: StoreContents) -> list[Any]:
    return [store.kind, *([_written(each) for each in entry] for entry in store.entries)]


def _read_store(found: list[Any]) -> StoreContents:
    return StoreContents(found[0], tuple(tuple(_read(each) for each in entry) for entry in found[1:]))


def _written_headers(headers: Headers) -> list[Any]:
    return [[name, _written(value)] for name, value in headers]


def _read_headers(found: list[list[Any]]) -> Headers:
    return tuple((name, _read(value)) for name, value in found)


def _written(value: bytes | int | None) -> str | int | None:
    if not isinstance(value, bytes):
        return value
    if all(32 <= byte < 127 for byte in value) and not value.startswith(_ENCODED.encode()):
        return value.decode("ascii")
    return _ENCODED + base64.b64encode(value).decode("ascii")


def _read(found: Any) -> Any:
    if not isinstance(found, str):
        return found
    return base64.b64decode(found.removeprefix(_ENCODED)) if found.startswith(_ENCODED) else found.encode("ascii")


def _record() -> None:
    with JavaOracle(driver_classpath()) as oracle:
        found = {name: ask(oracle, name) for name in oracle.names()}
    for old in DIRECTORY.glob("*.json"):
        old.unlink()
    for name, golden in found.items():
        write_golden(name, golden)


if __name__ == "__main__":
    _record()
