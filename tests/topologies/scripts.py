"""What a run of a topology is told to do, and what it answers."""

import random
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from attrs import evolve, frozen

__all__ = [
    "Advance",
    "Headers",
    "Output",
    "Pipe",
    "Restart",
    "Run",
    "Script",
    "Step",
    "StoreContents",
    "TakeSnapshot",
    "encoded",
    "random_script",
    "script_for",
    "with_restarts",
]

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]


@frozen
class Pipe:
    """Feed a record into a topic."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: Headers = ()


@frozen
class Advance:
    """Advance the wall clock."""

    by_ms: int


@frozen
class Restart:
    """Go on with a new driver, whose stores are restored from their changelogs."""


@frozen
class TakeSnapshot:
    """Add what is in the stores to the run's snapshots."""


Step: TypeAlias = Pipe | Advance | Restart | TakeSnapshot
Script: TypeAlias = Sequence[Step]


@frozen
class Output:
    """A record that a topology wrote, to a sink or to an internal topic.

    Attributes:
        step: Number of the step that it came from, from 0.
        topic: Its topic; those of internal topics begin with the application's id, `app`.
        partition: None if the topology leaves it to the producer.
        timestamp_ms: None for changelog records of a suppression.
    """

    step: int
    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    timestamp_ms: int | None
    headers: Headers = ()

    @property
    def is_changelog(self) -> bool:
        """Whether it went to the changelog of a store."""
        return self.topic.endswith("-changelog")


@frozen
class StoreContents:
    """What a store holds, in the order of its iterator.

    Attributes:
        kind: `key_value`, `window` or `session`.
        entries: Key and value of each entry, with start and end between them unless the store is a key-value store.
            In front of a value stands its timestamp, 8 bytes, if the store keeps timestamps.
    """

    kind: str
    entries: tuple[tuple[bytes | int, ...], ...]


@frozen(kw_only=True)
class Run:
    """What came out of a script.

    Attributes:
        outputs: All records, in the order in which the topology wrote them.
        stores: The stores at the end, but for buffers, by name.
        snapshots: The same for each `TakeSnapshot`.
        dropped: How many records operators and stores dropped; None if that is not known.
        failed_step: Number of the step that failed; the steps after it were not taken.
        error: The exceptions of that step, from the outermost to the first cause, each with its class.
        elapsed_ns: How long the steps took.
        processor_ns: How long they took of a processor.
    """

    outputs: tuple[Output, ...]
    stores: Mapping[str, StoreContents]
    snapshots: tuple[Mapping[str, StoreContents], ...] = ()
    dropped: int | None = None
    failed_step: int | None = None
    error: tuple[str, ...] = ()
    elapsed_ns: int = 0
    processor_ns: int = 0


# ------------------------------------------------------------------------------------------------------- random scripts

_KEYS = ("a", "b", "c", "d", "ab")
_TEXTS = ("apple", "ab", "b", "bad", "cab dab", "d e a", "", "c", "dad bad add", "abc")
_HEADERS: tuple[Headers, ...] = ((("x", b"1"),), (("y", None), ("x", b"2")), (("x", b"1"), ("x", b"3")))
_MOST_BACKWARDS_MS, _MOST_FORWARDS_MS, _JUMP_MS = 60, 40, 400


def script_for(topology: str, seed: int, inputs: Sequence[str], records: int) -> tuple[Step, ...]:
    """A random script, with what a topology is about: times below zero, or values that cannot be read."""
    script = random_script(seed, inputs, records)
    if topology.startswith("timestamps_"):
        return _changed(seed, script, lambda record: evolve(record, timestamp_ms=-1))
    if topology.startswith("unreadable"):
        return _changed(seed, script, lambda record: evolve(record, value=b"bad"))
    return script


def with_restarts(seed: int, script: Script) -> tuple[Step, ...]:
    """A script with two restarts, somewhere after its first step."""
    rng, steps = random.Random(seed), list(script)
    for _ in range(2):
        steps.insert(rng.randint(1, len(steps)), Restart())
    return tuple(steps)


def _changed(seed: int, script: Script, change: Callable[[Pipe], Pipe]) -> tuple[Step, ...]:
    rng = random.Random(seed)
    return tuple(change(each) if isinstance(each, Pipe) and rng.random() < 0.2 else each for each in script)


def random_script(seed: int, inputs: Sequence[str], records: int = 100) -> tuple[Step, ...]:
    """A script with records out of order, null keys and values, wall-clock advances and jumps of time, by the seed."""
    rng, now_ms = random.Random(f"{seed} {inputs}"), _start_ms(seed)
    steps: list[Step] = []
    for _ in range(records):
        now_ms += rng.randint(0, _MOST_FORWARDS_MS) if rng.random() < 0.96 else _JUMP_MS
        steps.append(_random_record(rng, rng.choice(inputs), now_ms))
        if rng.random() < 0.08:
            steps.append(Advance(rng.randint(1, 250)))
    return tuple(steps)


def _start_ms(seed: int) -> int:
    """Where the time of a script starts: near zero for every other seed, where windows would begin before it."""
    return 0 if seed % 2 == 0 else 5_000


def _random_record(rng: random.Random, topic: str, now_ms: int) -> Pipe:
    late_ms = rng.randint(0, _MOST_BACKWARDS_MS) if rng.random() < 0.35 else 0
    if rng.random() < 0.03:
        late_ms = rng.randint(0, 4 * _MOST_BACKWARDS_MS)
    timestamp_ms = max(0, now_ms - late_ms)
    if rng.random() < 0.5:
        timestamp_ms -= timestamp_ms % 10  # so that it often meets the bounds of windows, which are such numbers, too
    key = None if rng.random() < 0.04 else rng.choice(_KEYS).encode()
    headers = rng.choice(_HEADERS) if rng.random() < 0.1 else ()
    return Pipe(topic, key, _random_value(rng, topic), timestamp_ms, headers)


def _random_value(rng: random.Random, topic: str) -> bytes | None:
    if rng.random() < 0.1:
        return None
    return encoded(rng.randint(-5, 20) if topic.startswith("numbers") else rng.choice(_TEXTS))


def encoded(value: str | int | None) -> bytes | None:
    """A key or value as the topologies' serdes write it."""
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else struct.pack(">q", value)
