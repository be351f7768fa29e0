"""The command `rounds`: how long an application in a classic group processes nothing while its leader computes."""

import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import attrs
import click
from attrs import field, frozen
from confluent_kafka import Producer

from kafka_groups.cli.output import table
from tests.benchmarks.aims import Aim
from tests.benchmarks.brokers import TARGETS, running
from tests.benchmarks.children import Child, child
from tests.benchmarks.output import console, finish, say
from tests.benchmarks.topics import new_topic, unique_name

GUARANTEES: Final = ("at_least_once", "exactly_once_v2")
_INSTANCES: Final = 2
_BEFORE_S, _AFTER_S, _SETTLING_S = 1.0, 1.0, 3.0
_STEP_S, _LONGEST_S, _POLL_S = 0.01, 120.0, 0.05
_MOST_S: Final = 0.5


@frozen(kw_only=True)
class RoundGaps:
    """The longest times between two records of each instance in one round, in seconds.

    Attributes:
        leader_s: Those of the instance whose worker leads.
        follower_s: Those of the other one.
        quiet_s: The longer one of both in a time of the same length without a round.
        written_s: The longest time between two writes of the producer in the round.
    """

    leader_s: float
    follower_s: float
    quiet_s: float
    written_s: float


@frozen
class _Writer:
    """Writes records to each partition at a rate, in another thread.

    Attributes:
        times_s: When it has written.
    """

    servers: str
    topic: str
    rate: int
    times_s: list[float] = field(factory=list)
    _stopped: threading.Event = field(factory=threading.Event)

    @contextmanager
    def writing(self) -> Iterator[None]:
        thread = threading.Thread(target=self._write, name="writer")
        thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            thread.join()

    def _write(self) -> None:
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 1})
        began_s, written = time.monotonic(), 0
        while not self._stopped.wait(_STEP_S):
            due = round((time.monotonic() - began_s) * self.rate)
            for number in range(written, due):
                for partition in range(_INSTANCES):
                    producer.produce(self.topic, f"{number}", "key", partition)
            written = due
            self.times_s.append(time.monotonic())
            producer.poll(0)
        producer.flush(_LONGEST_S)

    def longest_s(self, from_s: float, until_s: float) -> float:
        within = [each for each in tuple(self.times_s) if from_s < each < until_s]
        return max(after - before for before, after in pairwise([from_s, *within, until_s]))


@click.command()
@click.option("--target", type=click.Choice(TARGETS), default="embedded", show_default=True)
@click.option("--guarantee", "guarantees", type=click.Choice(GUARANTEES), multiple=True, default=GUARANTEES,
              show_default=True)  # fmt: skip
@click.option("--rate", type=click.IntRange(1), default=1_000, show_default=True, help="Of records of each instance.")
@click.option("--seconds", type=click.FloatRange(0.1), default=5.0, show_default=True, help="How long it computes.")
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Medians are of these.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")
def rounds(
    *, target: str, guarantees: Sequence[str], rate: int, seconds: float, rounds: int, json_file: Path | None
) -> None:
    """Two instances process records while a third one joins, and the leader computes in pure Python. No task moves."""
    with running(target) as servers:
        measured = {each: _measured(servers, each, rate, seconds, rounds) for each in guarantees}
    console().print(table(f"Longest time between two records, medians, s ({target})",
                          ("guarantee", "leader", "follower", "without a round", "writes"),
                          [_row(name, gaps) for name, gaps in measured.items()]))  # fmt: skip
    console().print(table("Aims", ("measure", "figure", "aim", "met"),
                          [aim.row() for name, gaps in measured.items() for aim in _aims(name, gaps)]))  # fmt: skip
    finish({"rounds": {name: [attrs.asdict(each) for each in gaps] for name, gaps in measured.items()}}, json_file)


def _row(name: str, gaps: Sequence[RoundGaps]) -> tuple[str, ...]:
    names = [each.name for each in attrs.fields(RoundGaps)]
    return name, *(f"{statistics.median(getattr(each, of) for each in gaps):.3f}" for of in names)


def _aims(name: str, gaps: Sequence[RoundGaps]) -> Iterator[Aim]:
    for of in ("leader", "follower"):
        yield Aim(f"{name}, {of}, s", statistics.median(getattr(each, f"{of}_s") for each in gaps), _MOST_S)


def _measured(servers: str, guarantee: str, rate: int, seconds: float, rounds: int) -> list[RoundGaps]:
    source = new_topic(servers, _INSTANCES)
    job = {
        "servers": servers, "application_id": unique_name("rounds"), "source": source,
        "target": new_topic(servers, _INSTANCES), "guarantee": guarantee, "seconds": seconds,
    }  # fmt: skip
    writer = _Writer(servers, source, rate)
    with ExitStack() as stack:
        stack.enter_context(writer.writing())
        members = [stack.enter_context(_instance(job)) for _ in range(_INSTANCES)]
        found = []
        for _ in range(rounds):
            time.sleep(_SETTLING_S)  # the round in which the instance before has left, or the last one has come
            found.append(_round(job, members, writer, seconds))
            say(f"{guarantee}: {found[-1]}")
        return found


@contextmanager
def _instance(job: Mapping[str, Any], *, has_tasks: bool = True) -> Iterator[Child]:
    """An instance that runs. It leaves the group at the end."""
    with tempfile.TemporaryDirectory() as directory:
        given = json.dumps({**job, "directory": directory, "has_tasks": has_tasks})
        command = [sys.executable, "-m", "tests.benchmarks.rounds_program", given]
        with child(command, passes_errors_on=False) as started:
            if started.line().strip() != "running":
                raise started.failed("the instance does not run")
            yield started
            started.close_input()


def _round(job: Mapping[str, Any], members: Sequence[Child], writer: _Writer, seconds: float) -> RoundGaps:
    quiet_s = time.monotonic()
    time.sleep(_BEFORE_S + seconds + _AFTER_S)
    quiet = quiet_s, time.monotonic()
    before = _asked(members[0], "computed")
    with _instance(job, has_tasks=False):
        deadline_s = time.monotonic() + seconds + _LONGEST_S
        while (computed := _asked(members[0], "computed")) == before:
            assert time.monotonic() < deadline_s, "the leader has not computed"
            time.sleep(_POLL_S)
        time.sleep(_AFTER_S)
        ((began_s, ended_s),) = computed
        window = began_s - _BEFORE_S, ended_s + _AFTER_S
        leader_s, follower_s = (_asked(each, f"{window[0]} {window[1]}") for each in members)
    return RoundGaps(
        leader_s=leader_s,
        follower_s=follower_s,
        quiet_s=max(_asked(each, f"{quiet[0]} {quiet[1]}") for each in members),
        written_s=writer.longest_s(*window),
    )


def _asked(member: Child, question: str) -> Any:
    member.tell(question)
    line = member.line()
    if not line:
        raise member.failed("the instance has ended")
    return json.loads(line)
