"""Strategies for hypothesis: random states of applications, and random stories."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from kafka_groups.assignment.application.configs import AssignmentConfigs
from kafka_groups.assignment.application.neutral import application_state
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.assignment.application.task_assignor import AssignedMember
from kafka_groups.testing.assignors.story import AssignorStory, StoryCall, StoryStep
from kafka_groups.testing.assignors.story_application import StoryApplication
from kafka_groups.testing.assignors.story_group import StoryGroup
from kafka_groups.testing.assignors.story_processes import StoryProcess
from kafka_groups.testing.assignors.subtopologies import StorySubtopology
from kafka_groups.types import TaskId

try:
    from hypothesis import strategies as st
    from hypothesis.strategies import DrawFn, SearchStrategy
except ModuleNotFoundError as _error:
    if _error.name != "hypothesis":
        raise
    raise ModuleNotFoundError(
        "The strategies of kafka_groups.testing.assignors need hypothesis, which is not installed: run"
        " pip install hypothesis",
        name="hypothesis",
    ) from _error

__all__ = ["application_states", "assignor_stories"]

_NAMES: Final = "abcdefghijklmnopqrstuvwxyz"
_RACKS: Final = ("r1", "r2", "r3")
_ZONES: Final = ("z1", "z2", "z3")
_MOST_SUBTOPOLOGIES: Final = 3
_MOST_THREADS: Final = 3
_ENDS: Final = (0, 100, 20_000, 1_000_000)
_REBALANCE: Final = StoryStep("rebalance")
_SETTLE: Final = StoryStep("settle")

_Sizes = list[tuple[int, bool]]
_Tags = dict[str, str]


# ------------------------------------------------------------------------------------------------- stories


def assignor_stories(
    *, max_processes: int = 4, max_tasks: int = 8, max_events: int = 8, settles: bool = True
) -> SearchStrategy[AssignorStory]:
    """Generate stories for `AssignorTest.play`, which begin with sub-topologies and processes.

    Processes join, leave, restart, and get more or fewer threads. Racks fail. Time passes between rebalances. A story
    that fails shrinks to one with few steps.

    Args:
        max_processes: How many processes there may be, 26 at most.
        max_tasks: How many tasks there may be.
        max_events: How many things may happen.
        settles: Whether stories use `settle`, and end with it.
    """
    return _stories(min(max_processes, len(_NAMES)), max_tasks, max_events, settles=settles)


@st.composite
def _stories(draw: DrawFn, max_processes: int, max_tasks: int, max_events: int, *, settles: bool) -> AssignorStory:
    subtopologies = draw(_subtopology_steps(max_tasks))
    joins = draw(st.lists(_join_options(), min_size=1, max_size=max_processes))
    named = [StoryStep("join", name, options) for name, options in zip(_NAMES, joins, strict=False)]
    present = draw(st.integers(1, len(named)))
    events = draw(st.lists(_events(named, settles=settles), max_size=max_events))
    steps = [*subtopologies, *named[:present], _REBALANCE, *(step for event in events for step in event)]
    return AssignorStory((*_possible_steps(steps), _SETTLE if settles else _REBALANCE))


@st.composite
def _subtopology_steps(draw: DrawFn, max_tasks: int) -> list[StoryStep]:
    return [
        StoryStep("subtopology", str(number), {"tasks": tasks} if is_stateful else {"tasks": tasks, "stateful": False})
        for number, (tasks, is_stateful) in enumerate(draw(_sizes(max_tasks)))
    ]


def _sizes(max_tasks: int) -> SearchStrategy[_Sizes]:
    """Generate the number of tasks of each sub-topology, and whether it has state."""
    one = st.tuples(st.integers(1, max_tasks), st.booleans())
    return st.lists(one, min_size=1, max_size=_MOST_SUBTOPOLOGIES).map(lambda sizes: _limited(sizes, max_tasks))


def _limited(sizes: _Sizes, max_tasks: int) -> _Sizes:
    """Return the sub-topologies with as many tasks in all as there may be: a list that shrinks by its elements."""
    left, limited = max_tasks, []
    for tasks, is_stateful in sizes:
        if left:
            limited.append((min(tasks, left), is_stateful))
            left -= limited[-1][0]
    return limited


@st.composite
def _join_options(draw: DrawFn) -> dict[str, object]:
    threads, rack, tags = draw(_threads()), draw(_racks()), draw(_tags())
    given: dict[str, tuple[object, object]] = {"threads": (threads, 1), "rack": (rack, None), "tags": (tags, {})}
    return {name: value for name, (value, default) in given.items() if value != default}


def _threads() -> SearchStrategy[int]:
    return st.integers(1, _MOST_THREADS)


def _racks() -> SearchStrategy[str | None]:
    return st.none() | st.sampled_from(_RACKS)


def _tags() -> SearchStrategy[_Tags]:
    return st.just({}) | st.sampled_from(_ZONES).map(lambda zone: {"zone": zone})


@st.composite
def _events(draw: DrawFn, joins: Sequence[StoryStep], *, settles: bool) -> list[StoryStep]:
    """Generate a change, and what is assigned after it."""
    seconds = st.integers(0, 30)
    afterwards = [
        st.just([_REBALANCE]),
        seconds.map(lambda time: [StoryStep("advance", time), _REBALANCE]),
        st.just([]),
    ]
    return [draw(_changes(joins)), *draw(st.one_of([*afterwards, *([st.just([_SETTLE])] if settles else [])]))]


def _changes(joins: Sequence[StoryStep]) -> SearchStrategy[StoryStep]:
    names = st.sampled_from([each.argument for each in joins])
    racks = st.sampled_from(_RACKS)
    return st.one_of(
        st.sampled_from(joins),
        names.map(lambda name: StoryStep("leave", name)),
        names.map(lambda name: StoryStep("restart", name)),
        names.map(lambda name: StoryStep("restart", name, {"keeps_state": False})),
        st.builds(lambda name, threads: StoryStep("resize", name, {"threads": threads}), names, _threads()),
        racks.map(lambda rack: StoryStep("fail_rack", rack)),
        racks.map(lambda rack: StoryStep("restore_rack", rack)),
        st.integers(0, 2).map(lambda count: StoryStep("configure", options={"standby_replicas": count})),
    )


# -------------------------------------------------------------------------------------------------- states


def application_states(
    *, max_processes: int = 4, max_tasks: int = 8, assignment_configs: AssignmentConfigs | None = None
) -> SearchStrategy[ApplicationState]:
    """Generate states of applications, as an assignor gets them.

    Tasks have or had an owner or not, and processes have all of a task's state, a part of it, or nothing.

    Args:
        max_processes: How many processes there may be.
        max_tasks: How many tasks there may be.
        assignment_configs: The configuration. By default, up to two standby tasks, spread by zone or not.
    """
    configs = _configs() if assignment_configs is None else st.just(assignment_configs)
    return _states(max_processes, max_tasks, configs)


@st.composite
def _states(
    draw: DrawFn, max_processes: int, max_tasks: int, configs: SearchStrategy[AssignmentConfigs]
) -> ApplicationState:
    application = StoryApplication(1, StoryGroup(seed=0))
    for number, (tasks, is_stateful) in enumerate(draw(_sizes(max_tasks))):
        application.subtopologies[str(number)] = draw(_subtopologies(str(number), tasks, is_stateful=is_stateful))
    for number in range(draw(st.integers(1, max_processes))):
        process = draw(_processes(number))
        application.group.processes[process.name] = process
    for task, info in application.tasks.items():
        draw(_history(application, task, is_stateful=info.is_stateful))
    return application_state(application.as_input(draw(configs)))


@st.composite
def _subtopologies(draw: DrawFn, id_: str, tasks: int, *, is_stateful: bool) -> StorySubtopology:
    racks = draw(st.lists(st.frozensets(st.sampled_from(_RACKS), min_size=1), max_size=tasks))
    return StorySubtopology(
        id=id_,
        tasks=tasks,
        is_stateful=is_stateful,
        topics=(f"source-{id_}",),
        racks=racks,
        records=0,
        writes_per_second=0,
    )


@st.composite
def _processes(draw: DrawFn, number: int) -> StoryProcess:
    id_ = ProcessId(UUID(int=number + 1))
    process = StoryProcess(name=f"process-{number + 1}", id=id_, rack=draw(_racks()), tags=draw(_tags()))
    process.start(draw(_threads()))
    return process


@st.composite
def _history(draw: DrawFn, application: StoryApplication, task: TaskId, *, is_stateful: bool) -> None:
    """Give a task to the process that has it, and its state to processes."""
    processes = application.group.present
    owner = draw(st.none() | st.sampled_from(processes))
    end = draw(st.sampled_from(_ENDS)) if is_stateful else 0
    if is_stateful:
        application.ends[task] = end
    for process in processes:
        has_state = is_stateful and draw(st.booleans())
        if has_state:
            process.disk[task] = draw(st.just(end) | st.integers(0, end))
        if process is owner or (has_state and draw(st.booleans())):
            _give(process, draw(st.sampled_from(sorted(process.members))), task, is_active=process is owner)


def _give(process: StoryProcess, member_id: str, task: TaskId, *, is_active: bool) -> None:
    had = process.members[member_id]
    active, standby = {task} if is_active else set(), set() if is_active else {task}
    process.members[member_id] = AssignedMember(had.active_tasks | active, had.standby_tasks | standby, had.partitions)


@st.composite
def _configs(draw: DrawFn) -> AssignmentConfigs:
    return AssignmentConfigs(
        num_standby_replicas=draw(st.integers(0, 2)),
        acceptable_recovery_lag=draw(st.sampled_from([10_000, 0])),
        rack_aware_assignment_tags=draw(st.sampled_from([(), ("zone",)])),
    )


_OF_GROUPS: Final = ("join", "leave", "restart", "resize", "fail_rack", "restore_rack")
_DEFAULTS: Final[Mapping[str, Mapping[str, object]]] = MappingProxyType({
    "join": {"threads": None, "rack": None, "tags": None},
    "restart": {"keeps_state": True},
})  # fmt: skip


def _possible_steps(steps: Iterable[StoryStep]) -> Iterator[StoryStep]:
    """Yield the steps that are possible after those before. One process always stays.

    A process that leaves twice makes a story that cannot be played. A search for the smallest story that fails, which
    leaves out steps before, would have to start again each time.
    """
    group = StoryGroup(seed=0)
    for step in steps:
        if _is_possible(step.method, step.argument, step.options.get("rack"), group):
            if step.method in _OF_GROUPS:
                _carry_out(step, group)
            yield step


def _is_possible(method: StoryCall, argument: Any, rack: str | None, group: StoryGroup) -> bool:
    present = {each.name: each.rack for each in group.present}
    if method == "join":
        return argument not in present and rack not in group.failed_racks
    if method == "leave":
        return argument in present and len(present) > 1
    if method in {"restart", "resize"}:
        return argument in present
    if method == "fail_rack":
        return argument not in group.failed_racks and set(present.values()) != {argument}
    return method != "restore_rack" or argument in group.failed_racks


def _carry_out(step: StoryStep, group: StoryGroup) -> None:
    defaults = _DEFAULTS.get(step.method, {})
    getattr(group, step.method)(step.argument, **{**defaults, **step.options})
