"""What the task assignors of Kafka Streams 4.3.1 assign to random applications, recorded for machines without Java.

`python -m tests.recording.java_application_assignors` records it again, which is necessary when `random_application`
changes. It needs Java 17 and Maven.

The file has an object for each seed. It holds the answers by question: for each process, in the order of ids, its
active tasks and its copies, and whether the group rebalances again; or for each member its tasks with state, those
without, and its copies.
"""

import json
import random
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import attrs
from attrs import frozen

from kafka_groups.assignment.application.assignments import AssignedTask, KafkaStreamsAssignment, TaskAssignment
from kafka_groups.assignment.application.building_blocks import default_standby_task_assignment
from kafka_groups.assignment.application.built_in import (
    FallbackPriorTaskAssignor,
    HighAvailabilityTaskAssignor,
    LegacyStickyTaskAssignor,
    StickyTaskAssignor,
)
from kafka_groups.assignment.application.configs import RackAwareStrategy
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.assignment.application.task_assignor import TaskAssignor
from kafka_groups.assignment.application.tasks import in_task_order
from kafka_groups.assignment.application.threads import MemberShare, spread_over_threads
from kafka_groups.types import TaskId
from tests.support.assignors.application_cases import (
    ApplicationCase,
    random_application,
    random_assignment,
    with_several_owners,
)
from tests.support.kafka.kafka_application_assignor import (
    KafkaApplicationAssignors,
    KafkaAssignment,
    MemberTasks,
    ProcessTasks,
    tasks_of,
)
from tests.support.kafka.kafka_classpath import streams_classpath

__all__ = ["QUESTIONS", "SEEDS", "Question", "recorded"]

GOLDEN: Final = Path(__file__).parents[1] / "golden" / "application_assignors.json"
SEEDS: Final = range(30)
_SIZE: Final = MappingProxyType({"most_processes": 7, "most_tasks": 24})

Answer = Any
"""What is written to the file."""


@frozen
class Question:
    """What is asked of our code and of Java's.

    Attributes:
        ours: Answers for the application of a seed.
        javas: Answers with Java's classes.
    """

    ours: Callable[[int], Answer]
    javas: Callable[[KafkaApplicationAssignors, int], Answer]


def recorded() -> list[Mapping[str, Answer]]:
    """Return Java's answers by question, for each of `SEEDS`."""
    found: list[Mapping[str, Answer]] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return found


# What is asked


def _case_with_racks(seed: int) -> ApplicationCase:
    case = random_application(f"golden-{seed}", **_SIZE)
    return with_several_owners(case, random.Random(seed)) if seed % 5 == 0 else case


def _case(seed: int) -> ApplicationCase:
    case = _case_with_racks(seed)
    configs = attrs.evolve(case.configs, rack_aware_assignment_strategy=RackAwareStrategy.NONE)
    return attrs.evolve(case, configs=configs, racks={})


def _state(seed: int) -> ApplicationState:
    return _case(seed).as_state()


def _state_with_racks(seed: int) -> ApplicationState:
    return _case_with_racks(seed).as_state()


def _given(seed: int, *, has_standby: bool) -> dict[ProcessId, ProcessTasks]:
    plans = random_assignment(_case(seed), random.Random(seed))
    return {
        process_id: (frozenset(active), frozenset(standby - active if has_standby else ()))
        for process_id, (active, standby) in plans.items()
    }


def _assignments(given: Mapping[ProcessId, ProcessTasks]) -> dict[ProcessId, KafkaStreamsAssignment]:
    return {
        process_id: KafkaStreamsAssignment.of(
            process_id, [*map(AssignedTask.active, active), *map(AssignedTask.standby, standby)]
        )
        for process_id, (active, standby) in given.items()
    }


# What is answered


def _by_assignor(
    assignor: TaskAssignor,
    javas: Callable[[KafkaApplicationAssignors, ApplicationState], KafkaAssignment],
    state: Callable[[int], ApplicationState] = _state,
) -> Question:
    return Question(
        lambda seed: _of_ours(assignor.assign(state(seed))), lambda kafka, seed: _of_javas(javas(kafka, state(seed)))
    )


def _of_ours(assignment: TaskAssignment) -> Answer:
    follows_up = any(each.followup_rebalance_deadline for each in assignment.assignment)
    return _shown(tasks_of(assignment.assignment), follows_up=follows_up)


def _of_javas(assignment: KafkaAssignment) -> Answer:
    return _shown(assignment.tasks, follows_up=assignment.follows_up)


def _shown(tasks: Mapping[ProcessId, ProcessTasks], *, follows_up: bool = False) -> Answer:
    processes = [list(map(_words, tasks[process_id])) for process_id in sorted(tasks)]
    return {"processes": processes, "follows_up": follows_up}


def _words(tasks: Iterable[TaskId]) -> str:
    return " ".join(map(str, in_task_order(tasks)))


def _without_copies(answer: Answer) -> Answer:
    return {**answer, "processes": [active for active, _standby in answer["processes"]]}


def _our_default_standby(seed: int) -> Answer:
    given = _assignments(_given(seed, has_standby=False))
    default_standby_task_assignment(_state(seed), given)
    return _shown(tasks_of(given.values()))


def _javas_default_standby(kafka: KafkaApplicationAssignors, seed: int) -> Answer:
    state, given = _state(seed), _given(seed, has_standby=False)
    if not state.assignment_configs.num_standby_replicas:
        return _shown(given)  # Java makes copies nevertheless if there are tags
    return _of_javas(kafka.standby_by_tags(state, given))


def _our_threads(seed: int) -> Answer:
    state = _state(seed)
    states = state.kafka_streams_states(compute_task_lags=True)
    members: dict[str, MemberShare] = {}
    for process_id, each in _assignments(_given(seed, has_standby=True)).items():
        members |= spread_over_threads(states[process_id], each, state.all_tasks)
    return _shown_members(members)


def _javas_threads(kafka: KafkaApplicationAssignors, seed: int) -> Answer:
    return _shown_members(kafka.threads(_state(seed), _given(seed, has_standby=True)))


def _shown_members(members: Mapping[str, MemberShare | MemberTasks]) -> Answer:
    return {
        member: [_words(share.stateful), _words(share.stateless), _words(share.standby)]
        for member, share in sorted(members.items())
    }


_STICKY: Final = _by_assignor(StickyTaskAssignor(), KafkaApplicationAssignors.public_sticky)

QUESTIONS: Final = MappingProxyType({
    "high availability": _by_assignor(HighAvailabilityTaskAssignor(), KafkaApplicationAssignors.high_availability),
    "high availability with racks": _by_assignor(
        HighAvailabilityTaskAssignor(), KafkaApplicationAssignors.high_availability, _state_with_racks
    ),
    "legacy sticky with racks": _by_assignor(
        LegacyStickyTaskAssignor(), KafkaApplicationAssignors.legacy_sticky, _state_with_racks
    ),
    "legacy sticky": _by_assignor(LegacyStickyTaskAssignor(), KafkaApplicationAssignors.legacy_sticky),
    "fallback": _by_assignor(FallbackPriorTaskAssignor(), KafkaApplicationAssignors.fallback_prior),
    "sticky, active tasks": Question(
        lambda seed: _without_copies(_STICKY.ours(seed)),
        lambda kafka, seed: _without_copies(_STICKY.javas(kafka, seed)),
    ),
    "default standby tasks": Question(_our_default_standby, _javas_default_standby),
    "threads": Question(_our_threads, _javas_threads),
})  # fmt: skip


def main() -> None:
    """Record what Java's classes answer, given maps and sets in order."""
    with (
        tempfile.TemporaryDirectory() as directory,
        KafkaApplicationAssignors(Path(directory), streams_classpath(), sorts=True) as kafka,
    ):
        lines = [
            json.dumps({name: question.javas(kafka, seed) for name, question in QUESTIONS.items()}) for seed in SEEDS
        ]
    GOLDEN.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
