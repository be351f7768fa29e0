"""`AssignorTest`: runs a task assignor through a story, and checks each assignment."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final

from attrs import define, evolve, field

from kafka_groups.assignment.application.configs import AssignmentConfigs
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.registered import Registered
from kafka_groups.errors import ConfigurationError, IllegalStateError
from kafka_groups.errors.texts import counted
from kafka_groups.protocol.streams_user_data.versions import LATEST_VERSION, OLDEST_VERSION
from kafka_groups.testing.assignors.classic_rounds import ClassicRounds
from kafka_groups.testing.assignors.rebalancing import Rebalancing
from kafka_groups.testing.assignors.results import AssignorStatistics, RebalanceResult
from kafka_groups.testing.assignors.story import AssignorStory, StoryCall, StoryStep
from kafka_groups.testing.assignors.story_application import StoryApplication
from kafka_groups.testing.assignors.story_group import StoryGroup
from kafka_groups.testing.assignors.subtopologies import RackNames, StorySubtopology
from kafka_groups.types import TaskId

__all__ = ["AssignorTest"]

_RECORDS: Final = 100_000
_RESTORE_RATE: Final = 10_000
_ASSIGNING: Final = frozenset({"rebalance", "settle"})


@define(eq=False, repr=False)
class AssignorTest:
    """Runs a task assignor (KIP-924) through a story, without a broker.

    You say which tasks there are, and what happens to the processes. `rebalance` assigns the tasks, and checks the
    result by the rules of `AssignorRule`. Time passes when you say so. Then processes restore the state of their
    tasks, so that the lags that the assignor sees are those of a real application. Equal stories with equal seeds have
    equal results.

    A process keeps the state of a task on its disk, also after the task has moved away. A task that has never run
    begins with its state complete.

    Attributes:
        assignor: A subclass of `TaskAssignor`, an object, a function, where one of these is (`module:Class`), or a
            `Registered`.
        configs: The configuration of the assignor, as in `Registered`.
        standby_replicas: The number of standby tasks of each task with state.
        acceptable_recovery_lag: The most records that a process may lack so that it counts as caught up.
        rack_aware_assignment_tags: The client tags by which standby tasks are spread.
        restore_rate: How many records a process copies per second, of each task that it restores.
        seed: The seed of the ids of processes.
        allow_unassigned: Whether the assignor may leave tasks out, which then run nowhere.
        allow_unrepeatable: Whether the assignor may return different assignments for the same state. If not, each
            rebalance calls `assign` twice.

    Raises:
        ConfigurationError: It is not an assignor, or a value is out of bounds.
    """

    __test__: ClassVar[bool] = False  # not a class of tests, for those whose pytest collects *Test

    assignor: object
    configs: Mapping[str, object] = field(factory=dict, kw_only=True)
    standby_replicas: int = field(default=0, kw_only=True)
    acceptable_recovery_lag: int = field(default=10_000, kw_only=True)
    rack_aware_assignment_tags: Sequence[str] = field(default=(), kw_only=True)
    restore_rate: int = field(default=_RESTORE_RATE, kw_only=True)
    seed: int = field(default=0, kw_only=True)
    allow_unassigned: bool = field(default=False, kw_only=True)
    allow_unrepeatable: bool = field(default=False, kw_only=True)
    _application: StoryApplication = field(init=False)
    _rebalancing: Rebalancing = field(init=False)
    _configs: AssignmentConfigs = field(init=False)
    _steps: list[StoryStep] = field(init=False, factory=list)

    def __attrs_post_init__(self) -> None:
        if self.restore_rate < 1:
            raise ConfigurationError(f"restore_rate must be at least 1, not {self.restore_rate}.")
        self._configs = AssignmentConfigs(
            num_standby_replicas=self.standby_replicas,
            acceptable_recovery_lag=self.acceptable_recovery_lag,
            rack_aware_assignment_tags=self.rack_aware_assignment_tags,
        )
        self._application = StoryApplication(self.restore_rate, StoryGroup(self.seed))
        self._rebalancing = Rebalancing(
            _registered(self.assignor, self.configs),
            self._application,
            allow_unassigned=self.allow_unassigned,
            allow_unrepeatable=self.allow_unrepeatable,
        )

    def __repr__(self) -> str:
        present = ", ".join(each.name for each in self._application.group.present) or "none"
        return f"<AssignorTest of {self._rebalancing.registered.name}: step {len(self._steps)}, processes: {present}>"

    # -------------------------------------------------------------------------------------- what is there

    @property
    def story(self) -> AssignorStory:
        """All that has happened. `play` repeats it, also with another assignor."""
        return AssignorStory(tuple(self._steps))

    @property
    def statistics(self) -> AssignorStatistics:
        """The metrics of the story so far."""
        return self._rebalancing.statistics

    @property
    def now(self) -> datetime:
        """The time, which is `ApplicationState.now` for the assignor."""
        return self._application.now

    def process_id(self, name: str) -> ProcessId:
        """Return the id of a process.

        Raises:
            IllegalStateError: It is not in the group.
        """
        return self._application.group.member(name).id

    # --------------------------------------------------------------------------------------- what happens

    def on_classic_group(self, *, versions: Mapping[str, int] | None = None) -> None:
        """Assign from now on as the leader of a classic group does, on brokers of any release.

        Each rebalance then goes through the bytes that members send and read, and takes as many rounds as the group
        needs: a task that another member has is given up in one round, and taken in the next. `RebalanceResult.rounds`
        has their number. Call it before the first rebalance.

        Args:
            versions: The latest version of user data that a process has, by its name: 11 from Kafka Streams 3.2 on,
                which processes that are not named have, and 3 to 10 for older ones. Members below 11 have no client
                tags, and those below 7 cannot be told when the next rebalance is due.

        Raises:
            ConfigurationError: There is no such version.
            IllegalStateError: Tasks have been assigned already.
        """
        known = dict(versions or {})
        for name, version in known.items():
            if not OLDEST_VERSION <= version <= LATEST_VERSION:
                raise ConfigurationError(
                    f"versions: the user data of process {name!r} cannot have version {version!r}. Use "
                    f"{OLDEST_VERSION} to {LATEST_VERSION}."
                )
        if any(step.method in _ASSIGNING for step in self._steps):
            raise IllegalStateError(
                "Tasks have been assigned already. Call on_classic_group before the first rebalance."
            )
        self._rebalancing.classic = ClassicRounds(self._application, known)
        self._note("on_classic_group", versions=(known, {}))

    def subtopology(  # noqa: PLR0913 - keywords
        self,
        subtopology_id: str,
        *,
        tasks: int,
        stateful: bool = True,
        topics: Sequence[str] | None = None,
        racks: Sequence[RackNames] = (),
        records: int = _RECORDS,
        writes_per_second: int = 0,
    ) -> tuple[TaskId, ...]:
        """Add a sub-topology to the application, and return its tasks.

        Args:
            subtopology_id: Its id, for example `0`.
            tasks: The number of its tasks.
            stateful: Whether its tasks have a store with a changelog.
            topics: The topics that it reads. By default, there is one.
            racks: The racks of the replicas of each partition: a name, or several. If there are fewer than partitions,
                they repeat. Without them, racks are not known.
            records: The records that the changelog of a task has when the task has run.
            writes_per_second: How many records a running task adds to its changelog.

        Raises:
            IllegalStateError: There is a sub-topology with this id already.
            ConfigurationError: A number is out of bounds, or `racks` is not a list.
        """
        if subtopology_id in self._application.subtopologies:
            raise IllegalStateError(f"There is a sub-topology {subtopology_id!r} already. Use another id.")
        made = StorySubtopology(
            id=subtopology_id,
            tasks=tasks,
            is_stateful=stateful,
            topics=(f"source-{subtopology_id}",) if topics is None else tuple(topics),
            racks=racks,
            records=records,
            writes_per_second=writes_per_second,
        )
        self._application.subtopologies[subtopology_id] = made
        self._note(
            "subtopology",
            subtopology_id,
            tasks=(tasks, None),
            stateful=(stateful, True),
            topics=(topics, None),
            racks=(racks, ()),
            records=(records, _RECORDS),
            writes_per_second=(writes_per_second, 0),
        )
        return made.task_ids

    def join(
        self,
        name: str,
        *,
        threads: int | None = None,
        rack: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Let a process join the group. One that has left comes back with its state.

        Args:
            name: Its name in the story.
            threads: The number of its threads; by default one, or as many as it had before.
            rack: Its rack; by default none, or the one that it had before.
            tags: Its client tags; by default none, or those that it had before.

        Raises:
            IllegalStateError: It is in the group already, its rack is down, or `threads` is less than one.
        """
        self._application.group.join(name, threads, rack, tags)
        self._note("join", name, threads=(threads, None), rack=(rack, None), tags=(tags, None))

    def leave(self, name: str) -> None:
        """Let a process leave the group. Its state stays on its disk.

        Raises:
            IllegalStateError: It is not in the group.
        """
        self._application.group.leave(name)
        self._note("leave", name)

    def restart(self, name: str, *, keeps_state: bool = True) -> None:
        """Restart a process, so that it has no tasks until the next rebalance.

        Args:
            name: Its name.
            keeps_state: Whether its disk survives. If not, the process has a new id, too.

        Raises:
            IllegalStateError: It is not in the group.
        """
        self._application.group.restart(name, keeps_state=keeps_state)
        self._note("restart", name, keeps_state=(keeps_state, True))

    def resize(self, name: str, *, threads: int) -> None:
        """Start or end threads of a process.

        Raises:
            IllegalStateError: It is not in the group, or `threads` is less than one.
        """
        self._application.group.resize(name, threads)
        self._note("resize", name, threads=(threads, None))

    def fail_rack(self, rack: str) -> None:
        """Take a rack down: its processes leave, and partitions lose their replicas in it.

        Raises:
            IllegalStateError: It is down already.
        """
        self._application.group.fail_rack(rack)
        self._note("fail_rack", rack)

    def restore_rack(self, rack: str) -> None:
        """Bring a rack back: the processes that have failed with it return with their state.

        Raises:
            IllegalStateError: It is not down.
        """
        self._application.group.restore_rack(rack)
        self._note("restore_rack", rack)

    def configure(self, *, standby_replicas: int) -> None:
        """Change the number of standby tasks.

        Raises:
            ConfigurationError: It is negative.
        """
        self._configs = evolve(self._configs, num_standby_replicas=standby_replicas)
        self._note("configure", standby_replicas=(standby_replicas, None))

    def advance(self, seconds: float) -> None:
        """Let time pass: processes restore state, and running tasks write. Tasks stay where they are.

        Raises:
            IllegalStateError: The time is negative.
        """
        if seconds < 0:
            raise IllegalStateError(f"Time does not run backwards: advance takes seconds from 0 on, not {seconds}.")
        self._rebalancing.advance(seconds)
        self._note("advance", seconds)

    # --------------------------------------------------------------------------------- what is assigned then

    def rebalance(self) -> RebalanceResult:
        """Assign the tasks once, and check the result.

        Raises:
            AssignorTestError: The assignor has broken a rule.
            IllegalStateError: There are no processes or no tasks.
        """
        __tracebackhide__ = True  # pytest shows the line of the test
        self._rebalancing.check_ready()
        self._note("rebalance")
        result = self._rebalancing.run(self._configs, self.story)
        self._remark(f"{len(result.moved_tasks)} moved" if result.postponed is None else "postponed")
        return result

    def settle(self, *, most_rebalances: int = 100) -> RebalanceResult:
        """Rebalance until nothing moves and no follow-up is due, and return the last result.

        Before each further rebalance, time passes: until the follow-up is due, or until all state is restored.

        Args:
            most_rebalances: How many rebalances it may take.

        Raises:
            AssignorTestError: The assignor has broken a rule, or the tasks do not become stable.
            IllegalStateError: There are no processes or no tasks.
        """
        __tracebackhide__ = True  # pytest shows the line of the test
        self._rebalancing.check_ready()
        self._note("settle", most_rebalances=(most_rebalances, 100))
        count, result = self._rebalancing.settle(self._configs, self.story, most_rebalances)
        self._remark(counted(count, "rebalance"))
        return result

    def play(self, story: AssignorStory) -> None:
        """Let a whole story happen.

        Raises:
            AssignorTestError: The assignor has broken a rule.
            IllegalStateError: A step is impossible, such as a process that leaves twice.
        """
        __tracebackhide__ = True  # pytest shows the line of the test
        for step in story.steps:
            arguments = () if step.argument is None else (step.argument,)
            getattr(self, step.method)(*arguments, **step.options)

    def _note(self, method: StoryCall, argument: object = None, **options: tuple[Any, Any]) -> None:
        """Add a step to the story, without the options that have their defaults."""
        given = {name: value for name, (value, default) in options.items() if value != default}
        self._steps.append(StoryStep(method, argument, given))

    def _remark(self, text: str) -> None:
        self._steps[-1] = self._steps[-1].with_remark(text)


def _registered(assignor: object, configs: Mapping[str, object]) -> Registered:
    if not isinstance(assignor, Registered):
        return Registered(assignor, configs=configs)
    if configs:
        raise ConfigurationError(f"The assignor '{assignor.name}' is registered with its configs. Give no others.")
    return assignor
