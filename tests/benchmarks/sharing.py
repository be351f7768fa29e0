"""What members of one group get beside each other, and how long a record takes at a low rate."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from attrs import frozen
from confluent_kafka import Producer

from tests.benchmarks.measures import Say
from tests.benchmarks.processes import produce
from tests.benchmarks.topics import new_group, new_topic

_PROGRAM = Path(__file__).with_name("paced.py")
_JOIN_SECONDS = 8.0
_SLOW_MS = 1.0
_EVERY_MS = 10
_TIMEOUT_S = 120

FAST_AND_SLOW = (0.0, _SLOW_MS, _SLOW_MS, _SLOW_MS)
ALL_FAST = (0.0, 0.0, 0.0, 0.0)
MEMBERS: Mapping[str, Sequence[float]] = {"1 fast, 3 slow": FAST_AND_SLOW, "4 fast": ALL_FAST}
"""Milliseconds that each member takes for a record."""

SIZES: Mapping[str, Mapping[str, Any]] = {"adaptive": {}, "fixed": {"fetch.max.records": 500}}


@frozen
class Span:
    """The time that counts, on the machine's monotonic clock."""

    from_s: float
    seconds: float

    @property
    def until_s(self) -> float:
        """When it is over."""
        return self.from_s + self.seconds


@frozen
class Shared:
    """What the members got: records within the seconds, by size of their fetches, a list for each round."""

    name: str
    rounds: Mapping[str, Sequence[Sequence[Mapping[str, float]]]]

    def share_of(self, size: str, member: int) -> float:
        """The median of what a member got."""
        return float(median(members[member]["records"] for members in self.rounds[size]))

    def total(self, size: str, figure: str) -> float:
        """A figure of all members and rounds."""
        return float(sum(member[figure] for members in self.rounds[size] for member in members))

    @property
    def least_ratio(self) -> float:
        """What the member gets that loses most by adaptive sizes; of the slow ones if there are any."""
        members = range(1 if self.name.startswith("1 fast") else 0, len(self.rounds["fixed"][0]))
        both = [sorted(self.share_of(size, member) for member in members) for size in SIZES]
        return float(min(adaptive / max(1.0, fixed) for adaptive, fixed in zip(*both, strict=True)))


def share_out(
    bootstrap_servers: str, target: str, partitions: int, seconds: float, rounds: int, say: Say
) -> list[Shared]:
    """Members of each kind beside each other, with adaptive and with fixed fetches by turns."""
    topic = new_topic(bootstrap_servers, partitions)
    produce(bootstrap_servers, topic, round(400_000 * seconds), "small", partitions)
    results = []
    for name, paces in MEMBERS.items():
        got: dict[str, list[Any]] = {size: [] for size in SIZES}
        for number in range(rounds):
            for size in sorted(SIZES, reverse=number % 2 == 1):
                got[size].append(_members(bootstrap_servers, topic, paces, SIZES[size], seconds))
                say(f"{target}, {partitions} partitions, {name}, {size}: {[m['records'] for m in got[size][-1]]}")
        results.append(Shared(f"{name}, {partitions} partitions, {target}", got))
    return results


def _members(
    bootstrap_servers: str, topic: str, paces: Sequence[float], keys: Mapping[str, Any], seconds: float
) -> list[dict[str, float]]:
    group_id = new_group(bootstrap_servers)
    span = Span(time.monotonic() + _JOIN_SECONDS, seconds)
    config = {"bootstrap.servers": bootstrap_servers, "group.id": group_id, **keys}
    started = [_start(config, topic, pace, span) for pace in paces]
    return [_ended(process) for process in started]


def _start(
    keys: Mapping[str, Any], topic: str, record_ms: float, span: Span, checkout: Path | None = None
) -> "subprocess.Popen[str]":
    task = {
        "keys": {name.replace(".", "_"): value for name, value in keys.items()},
        "topic": topic,
        "record_ms": record_ms,
        "from_s": span.from_s,
        "until_s": span.until_s,
    }
    environment = os.environ | ({"PYTHONPATH": str(checkout)} if checkout else {})
    command = [sys.executable, str(_PROGRAM), json.dumps(task)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def _ended(process: "subprocess.Popen[str]") -> dict[str, float]:
    output, _ = process.communicate(timeout=_TIMEOUT_S)
    assert process.returncode == 0, "a member failed"
    figures: dict[str, float] = json.loads(output)
    return figures


def latency(bootstrap_servers: str, seconds: float, rounds: int, checkout: Path, say: Say) -> dict[str, list[Any]]:
    """A record every 10 ms, and how long each takes from `produce` to the application; ours and ours of before."""
    topic = new_topic(bootstrap_servers)
    got: dict[str, list[Any]] = {"ours": [], "before": []}
    for _ in range(rounds):
        for client, where in (("ours", None), ("before", checkout)):
            group_id = new_group(bootstrap_servers, {"share.auto.offset.reset": "latest"})
            span = Span(time.monotonic() + _JOIN_SECONDS / 2, seconds)
            process = _start({"bootstrap.servers": bootstrap_servers, "group.id": group_id}, topic, 0.0, span, where)
            _trickle(bootstrap_servers, topic, span.until_s)
            got[client].append(_ended(process))
            say(f"latency {client}: {got[client][-1]}")
    return got


def _trickle(bootstrap_servers: str, topic: str, until_s: float) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 0, "log_level": 3})
    while time.monotonic() < until_s:
        producer.produce(topic, str(time.monotonic_ns()).encode(), partition=0)
        producer.poll(_EVERY_MS / 1000)
        time.sleep(_EVERY_MS / 1000)
    assert producer.flush(30.0) == 0
