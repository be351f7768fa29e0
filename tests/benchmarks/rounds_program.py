"""An instance of an application in a classic group that notes when it processes, in a process of its own.

Its argument is a JSON object: `servers`, `application_id`, `source`, `target`, `guarantee`, `directory`, `has_tasks`,
and `seconds`, for which the task assignor computes in a group of three. It prints a line when it runs. Then it answers
lines of standard input until that ends: `computed` gives the times at which its assignor last began and ended to
compute, and two times give the longest time between two processed records from the first to the second. All times are
seconds of the machine's monotonic clock.
"""

import json
import sys
import time
from functools import partial
from itertools import pairwise
from typing import Any

from kafka_groups import serdes
from kafka_groups.assignment import (
    ApplicationState,
    AssignedTask,
    KafkaStreamsAssignment,
    ProcessId,
    TaskAssignment,
)
from kafka_groups.streams import KafkaStreams, StreamsBuilder, Topology
from kafka_groups.types import TaskId

_STARTING_S = 120.0
_GUEST = 3

processed_s: list[float] = []
computed_s: list[tuple[float, float]] = []


def assign(state: ApplicationState, seconds: float) -> TaskAssignment:
    """Divide the tasks by turns. Three processes keep theirs, after a long computation."""
    states = state.kafka_streams_states(compute_task_lags=False)
    given: dict[ProcessId, list[TaskId]] = {process: [] for process in sorted(states)}
    if len(states) == _GUEST:
        compute(seconds)
        given |= {process: sorted(each.previous_active_tasks) for process, each in states.items()}
    for number, task in enumerate(sorted(set(state.all_tasks) - {each for its in given.values() for each in its})):
        given[sorted(states)[number % len(states)]].append(task)
    return TaskAssignment(
        KafkaStreamsAssignment.of(process, map(AssignedTask.active, tasks)) for process, tasks in given.items()
    )


def compute(seconds: float) -> None:
    """Keep this thread busy with pure Python."""
    began_s = time.monotonic()
    while time.monotonic() - began_s < seconds:
        sum(number * number for number in range(10_000))
    computed_s.append((began_s, time.monotonic()))


def build(job: dict[str, Any]) -> Topology:
    builder = StreamsBuilder()
    source = builder.stream(job["source"], key=serdes.string, value=serdes.string)
    source.peek(lambda _key, _value: processed_s.append(time.monotonic())).to(job["target"], value=serdes.string)
    return builder.build()


def longest_s(from_s: float, until_s: float) -> float:
    """The longest time between two records, with the ends of the time counting as some."""
    within = [each for each in tuple(processed_s) if from_s < each < until_s]
    return max(after - before for before, after in pairwise([from_s, *within, until_s]))


def answer(line: str) -> object:
    return computed_s[-1:] if line == "computed" else longest_s(*map(float, line.split()))


def main(job: dict[str, Any]) -> None:
    keys = {"group.protocol": "classic", "heartbeat.interval.ms": 500, "state.dir": job["directory"]}
    with KafkaStreams(
        build(job), keys, application_id=job["application_id"], bootstrap_servers=job["servers"],
        processing_guarantee=job["guarantee"], task_assignor_class=partial(assign, seconds=job["seconds"]),
    ) as app:  # fmt: skip
        if job["has_tasks"]:
            app.wait_until_running(_STARTING_S)
        print("running", flush=True)
        for line in sys.stdin:
            print(json.dumps(answer(line.strip())), flush=True)
            assert app.error is None


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
