"""Random groups of streams applications, as their leader meets them in a round.

They are members in the middle of their lives: with tasks that run, are restored, are on disk, or are claimed twice, of
any version, and with topics that exist or do not.
"""

import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from uuid import UUID

from attrs import evolve, field, frozen

from kafka_groups.admin.rules.group_topology.group_topology import (
    ChangelogTopic,
    GroupTopology,
    RepartitionTopic,
    Subtopology,
)
from kafka_groups.admin.rules.streams_leader.group_round import GroupRound, LeaderSettings
from kafka_groups.assignment import (
    AssignmentConfigs,
    LegacyStickyTaskAssignor,
    Registered,
    StickyTaskAssignor,
    TaskAssignor,
)
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolSubscription
from kafka_groups.protocol.member_data import INT32
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo
from kafka_groups.protocol.streams_user_data.versions import LATEST_VERSION
from kafka_groups.types import TaskId, TopicPartition
from tests.support.assignors.answered_questions import AnsweringTopics
from tests.support.assignors.dealing_assignor import DealingAssignor

__all__ = ["APPLICATION", "ASSIGNORS", "FUTURE_VERSION", "LeaderCase", "LeaderLimits", "ToldMember", "random_group"]

APPLICATION: Final = "app"
FUTURE_VERSION: Final = LATEST_VERSION + 1

ASSIGNORS: Final[Mapping[str, type[TaskAssignor]]] = {
    "sticky": StickyTaskAssignor,
    "legacy": LegacyStickyTaskAssignor,
    "dealing": DealingAssignor,
}
"""The assignors that Java's leader has, too."""

_FIRST_WITH_SUMS = 7
_MOST_OF_ONE = 20
_ENDS = (0, 50, 20_000, 10**9)


@frozen
class LeaderLimits:
    """How large a group may be.

    Attributes:
        members: Most members.
        tasks: Most tasks.
        versions: The versions of user data that occur.
        processes: Most processes.
    """

    members: int = 12
    tasks: int = 60
    versions: tuple[int, ...] = tuple(range(6, LATEST_VERSION + 1))
    processes: int = 12


_USUAL: Final = LeaderLimits()


@frozen(kw_only=True)
class ToldMember:
    """A member, and what it tells.

    Attributes:
        member_id: Its id.
        process_id: Its process.
        version: The version of its user data.
        latest: The latest version that it knows.
        endpoint: Its `application.server`, or None.
        rack: Its rack, or None.
        tags: Its client tags, which it tells from version 11 on.
        owned: The partitions that it owns.
        sums: The tasks whose state it has.
        generation: The generation in which it got its partitions.
        instance_id: The id of a static member, or None.
        error_code: The code that it sends, from version 9 on.
    """

    member_id: str
    process_id: UUID
    version: int = LATEST_VERSION
    latest: int = LATEST_VERSION
    endpoint: str | None = None
    rack: str | None = None
    tags: Mapping[str, str] = field(factory=dict)
    owned: frozenset[TopicPartition] = frozenset()
    sums: tuple[tuple[TaskId, int], ...] = ()
    generation: int = 3
    instance_id: str | None = None
    error_code: int = 0

    @property
    def of_process(self) -> UUID | None:
        """The process that a leader takes it for. Members of later versions are in one of their own: None."""
        return self.process_id if self.version < FUTURE_VERSION else None

    def subscription(self, topics: Iterable[str]) -> bytes:
        """Return its subscription as JoinGroup has it."""
        by_topic: dict[str, tuple[int, ...]] = {}
        for each in sorted(self.owned):
            by_topic[each.topic] = (*by_topic.get(each.topic, ()), each.partition)
        return ConsumerProtocolSubscription(
            topics=tuple(sorted(topics)),
            user_data=self._user_data(),
            owned_partitions=by_topic,
            generation_id=self.generation,
            rack_id=self.rack,
        ).encode()

    def _user_data(self) -> bytes:
        if self.version > LATEST_VERSION:
            return INT32.pack(self.version) + INT32.pack(self.latest) + b"of the future"
        return SubscriptionInfo(
            process_id=self.process_id,
            version=self.version,
            latest_supported_version=self.latest,
            task_offset_sums=self.sums,
            user_endpoint=self.endpoint,
            error_code=self.error_code,
            client_tags=tuple(self.tags.items()),
        ).encode()


@frozen(kw_only=True)
class LeaderCase:
    """A group, and the topics of its cluster.

    Attributes:
        topology: The topology of the application.
        counts: The numbers of partitions of the topics that exist.
        ends: The ends of changelogs.
        committed: The committed offsets of source topics.
        members: The members. The first of them leads.
        configs: What concerns assignments.
        now_ms: The time.
        racks: The racks of the brokers, by node id.
        replicas: The node ids of the brokers that have a partition; 0 alone where nothing is said.
        fails_offsets: Whether the ends of changelogs cannot be found.
        assignor: The name of its assignor: one of `ASSIGNORS`, or None for the default.
        mistake: The mistake that `dealing` makes, or nothing.
    """

    topology: GroupTopology
    counts: Mapping[str, int]
    ends: Mapping[str, tuple[int, ...]]
    committed: Mapping[str, tuple[int | None, ...]]
    members: tuple[ToldMember, ...]
    configs: AssignmentConfigs
    now_ms: int
    racks: Mapping[int, str | None] = field(factory=lambda: {0: None})
    replicas: Mapping[TopicPartition, tuple[int, ...]] = field(factory=dict)
    fails_offsets: bool = False
    assignor: str | None = None
    mistake: str = ""

    @property
    def read_topics(self) -> frozenset[str]:
        """The topics that members subscribe."""
        return frozenset[str]().union(*(each.read_topics for each in self.topology.subtopologies))

    @property
    def subscriptions(self) -> dict[str, bytes]:
        """The subscriptions of the members as JoinGroup has them."""
        return {each.member_id: each.subscription(self.read_topics) for each in self.members}

    @property
    def round(self) -> GroupRound:
        """The round as the leader is given it."""
        return GroupRound(
            generation=4,
            member_id=self.members[0].member_id,
            members=self.subscriptions,
            instance_ids={each.member_id: each.instance_id for each in self.members if each.instance_id is not None},
            topology=self.topology,
            settings=LeaderSettings(application_id=APPLICATION, assignment=self.configs, assignor=self._registered()),
        )

    def _registered(self) -> Registered | None:
        if self.assignor is None:
            return None
        made = DealingAssignor(self.mistake) if self.assignor == "dealing" else ASSIGNORS[self.assignor]
        return Registered(made, name=self.assignor)

    @property
    def topics(self) -> AnsweringTopics:
        """The topics of the cluster, in place of brokers."""
        return AnsweringTopics(dict(self.counts), self.ends, self.committed, self.racks, self.replicas)


# -------------------------------------------------------------------------------------------- a random group


def random_group(seed: int | str, limits: LeaderLimits = _USUAL) -> LeaderCase:
    """Return the group of a seed."""
    rng = random.Random(f"led-{seed}")
    drawn = _Topics(rng, limits.tasks)
    members = list(_members(rng, limits))
    _own_tasks(rng, members, drawn)
    _have_states(rng, members, drawn)
    missing = rng.choice(((), (), tuple(drawn.internal), tuple(name for name in drawn.internal if rng.random() < 0.3)))
    return LeaderCase(
        topology=GroupTopology(tuple(drawn.subtopologies)),
        counts={name: count for name, count in drawn.counts.items() if name not in missing},
        ends={name: tuple(rng.choice(_ENDS) for _ in range(drawn.counts[name])) for name in sorted(drawn.changelogs)},
        committed={
            name: tuple(rng.choice((None, 0, 70, 30_000)) for _ in range(drawn.counts[name]))
            for name in sorted(drawn.source_changelogs)
        },
        members=tuple(members),
        configs=_random_configs(rng),
        now_ms=rng.randrange(1_600_000_000_000, 1_900_000_000_000),
    )


def _random_configs(rng: random.Random) -> AssignmentConfigs:
    return AssignmentConfigs(
        acceptable_recovery_lag=rng.choice((0, 100, 10_000, 10_000)),
        max_warmup_replicas=rng.choice((1, 2, 2, 5)),
        num_standby_replicas=rng.choice((0, 0, 1, 2)),
        probing_rebalance_interval_ms=rng.choice((60_000, 600_000)),
    )


class _Topics:
    """A random topology, and its topics.

    A leader in Java takes the number of a repartition topic from any source of a writer, in the order of hashes. So the
    sources of a sub-topology that writes one have equal numbers here, unless the number is given.
    """

    def __init__(self, rng: random.Random, most_tasks: int) -> None:
        self._rng = rng
        self.counts: dict[str, int] = {}
        self.internal: list[str] = []
        self.changelogs: list[str] = []
        self.source_changelogs: list[str] = []
        self.subtopologies: list[Subtopology] = []
        self.inputs: dict[TaskId, list[TopicPartition]] = {}
        self.stateful: list[TaskId] = []
        self._sinks: dict[str, str] = {}
        self._open: list[tuple[str, int | None]] = []
        left = most_tasks - _MOST_OF_ONE
        for _ in range(rng.choice((1, 2, 2, 3, 5))):
            if left > 0:
                left -= self._add(min(left, rng.choice((2, 6, _MOST_OF_ONE))))
        if self._open:
            self._read_rest()

    def _add(self, most: int) -> int:
        """Add a sub-topology with at most so many tasks. Return how many it has."""
        id_ = str(len(self.subtopologies))
        rng, count = self._rng, self._rng.randint(1, most)
        fitting = [each for each in self._open if self.counts[each[0]] <= most]
        read = [each for each in fitting if rng.random() < 0.7]
        self._open = [each for each in self._open if each not in read]
        writes = rng.random() < 0.5
        if read and writes:
            count = self.counts[read[0][0]]
            self._open += [each for each in read if self.counts[each[0]] != count]
            read = [each for each in read if self.counts[each[0]] == count]
        names = [f"in-{id_}-{number}" for number in range(rng.choice((1, 1, 2)) if read else rng.choice((1, 1, 2, 3)))]
        for name in names:
            self.counts[name] = count if writes or name == names[0] or rng.random() < 0.5 else rng.randint(1, count)
        return self._add_reader(names, read, writes=writes)

    def _read_rest(self) -> None:
        """Add a sub-topology that reads the repartition topics that no other one does."""
        rest, self._open = self._open, []
        self._add_reader([], rest, writes=False)

    def _add_reader(self, names: list[str], read: list[tuple[str, int | None]], *, writes: bool) -> int:
        id_ = str(len(self.subtopologies))
        sources = [*names, *(name for name, _ in read)]
        counts = [self.counts[name] for name in sources]
        changelogs = list(self._changelogs(id_, names, max(counts)))
        are_equal = len(set(counts)) == 1 < len(counts)
        self.subtopologies.append(
            Subtopology(
                subtopology_id=id_,
                source_topics=tuple(names),
                repartition_sources=tuple(RepartitionTopic(name, given) for name, given in read),
                repartition_sinks=tuple(self._sink(id_, max(counts)) for _ in range(self._rng.choice((1, 1, 2))))
                if writes
                else (),
                changelogs=tuple(ChangelogTopic(name, {"cleanup.policy": "compact"}) for name in changelogs),
                copartition_groups=(frozenset(sources),) if are_equal and self._rng.random() < 0.5 else (),
            )
        )
        self._add_tasks(id_, sources, max(counts), is_stateful=bool(changelogs))
        return max(counts)

    def _changelogs(self, id_: str, names: list[str], tasks: int) -> Iterator[str]:
        for number in range(self._rng.choice((0, 1, 1, 2))):
            name = f"{APPLICATION}-store-{id_}-{number}-changelog"
            self.counts[name] = tasks
            self.internal.append(name)
            self.changelogs.append(name)
            yield name
        if names and self._rng.random() < 0.15 and self.counts[names[0]] == tasks:
            self.source_changelogs.append(names[0])
            yield names[0]

    def _sink(self, id_: str, tasks: int) -> str:
        name = f"{APPLICATION}-from-{id_}-{len(self.internal)}-repartition"
        given = self._rng.choice((None, None, self._rng.randint(1, 6)))
        self.counts[name] = given or tasks
        self.internal.append(name)
        self._open.append((name, given))
        return name

    def _add_tasks(self, id_: str, sources: list[str], tasks: int, *, is_stateful: bool) -> None:
        for number in range(tasks):
            task = TaskId(id_, number)
            self.inputs[task] = [TopicPartition(name, number) for name in sources if number < self.counts[name]]
            if is_stateful:
                self.stateful.append(task)


def _members(rng: random.Random, limits: LeaderLimits) -> Iterator[ToldMember]:
    count = rng.randint(1, limits.members)
    processes = [UUID(int=rng.getrandbits(128)) for _ in range(rng.randint(1, min(count, limits.processes)))]
    has_endpoints, usual = rng.random() < 0.6, rng.choice((limits.versions[-1], rng.choice(limits.versions)))
    mixing = rng.choice((0, 0, 0.3))
    for number in range(count):
        process = number % len(processes) if number < len(processes) else rng.randrange(len(processes))
        version = usual if rng.random() >= mixing else rng.choice(limits.versions)
        version = FUTURE_VERSION if number and rng.random() < 0.03 else version
        latest = rng.choice([version, *(each for each in limits.versions if each > version)])
        endpoint = f"host-{process}:{8000 + process}" if has_endpoints and (process or rng.random() < 0.8) else None
        yield ToldMember(
            member_id=f"app-{process}-StreamThread-{number}-consumer-{rng.getrandbits(32):08x}",
            process_id=processes[process],
            version=version,
            latest=latest,
            endpoint=endpoint,
        )


def _own_tasks(rng: random.Random, members: list[ToldMember], drawn: _Topics) -> None:
    """Give members the partitions of tasks: each of one member, of none, or, seldom, of two."""
    some = rng.sample(range(len(members)), rng.randint(0, len(members)))
    for inputs in drawn.inputs.values() if some else ():
        for _ in range(rng.choice((0, 1, 1, 1, 1, 1, 1, 1, 1, 2 if rng.random() < 0.2 else 1))):
            owner = rng.choice(some)
            own = inputs if rng.random() < 0.95 else inputs[: rng.randint(0, len(inputs))]
            members[owner] = evolve(members[owner], owned=members[owner].owned.union(own))


def _have_states(rng: random.Random, members: list[ToldMember], drawn: _Topics) -> None:
    """Let members report tasks that run, are restored, or are on disk, each by one member of a process."""
    sums: list[dict[TaskId, int]] = [{} for _ in members]
    for number, member in enumerate(members):
        for task, inputs in drawn.inputs.items():
            if member.owned.issuperset(inputs) and (task in drawn.stateful or member.version < _FIRST_WITH_SUMS):
                told = rng.choice((RUNNING_TASK, RUNNING_TASK, RUNNING_TASK, rng.randrange(20_000), None))
                if told is not None:
                    sums[number][task] = told
    for task in drawn.stateful:
        for number in rng.sample(range(len(members)), rng.choice((0, 0, 1, min(2, len(members))))):
            process = members[number].process_id
            is_told = any(task in sums[at] for at, each in enumerate(members) if each.process_id == process)
            if not is_told or rng.random() < 0.03:
                sums[number][task] = rng.choice((0, 40, 9_000, 20_000, 10**9))
    for number, member in enumerate(members):
        strange = {TaskId("97", 0): 5} if sums[number] and rng.random() < 0.02 else {}
        told_by = tuple({**sums[number], **strange}.items())
        members[number] = evolve(member, sums=told_by)
