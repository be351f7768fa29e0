"""The rounds of a classic group in a story: what members send, the leader's steps, and what members read."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from attrs import define, field, frozen

from kafka_groups.admin.rules.group_topology.group_topology import ChangelogTopic, GroupTopology, Subtopology
from kafka_groups.admin.rules.streams_leader.group_round import ErrorForAll, GroupRound, LeaderSettings, LedRound
from kafka_groups.admin.rules.streams_leader.lags import ChangelogEnds
from kafka_groups.admin.rules.streams_leader.leader_input import EPOCH
from kafka_groups.admin.rules.streams_leader.leading import AskedRound, led_round
from kafka_groups.admin.rules.streams_leader.subscriptions import read_subscriptions
from kafka_groups.assignment.application.configs import AssignmentConfigs
from kafka_groups.assignment.application.neutral import MemberInput
from kafka_groups.assignment.application.registered import Registered
from kafka_groups.assignment.application.task_assignor import AssignedMember
from kafka_groups.protocol.consumer_protocol import (
    NO_GENERATION,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo, decode_assignment
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK, TaskOffsetSums
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo
from kafka_groups.protocol.streams_user_data.versions import LATEST_VERSION
from kafka_groups.streams.member.classic.member_subscription import partitions_by_name
from kafka_groups.testing.assignors.story_application import StoryApplication
from kafka_groups.testing.assignors.story_processes import StoryProcess
from kafka_groups.types import TaskId

__all__ = ["APPLICATION", "ClassicRounds", "StoryRound"]

APPLICATION: Final = "application"
"""The id of the application in a story."""

_AT_ONCE_MS: Final = 0


@frozen(kw_only=True)
class StoryRound:
    """A round.

    Attributes:
        members: What each member has read from its assignment. Empty if the leader has sent an error.
        joins_again: Whether a member joins again at once, because it has given up tasks, waits for some, or has learnt
            of another version of user data.
        followup_at: When the next round is due otherwise; None if nobody has asked for one.
        is_postponed: Whether the assignor could not tell the assignment.
        error: The error that all members get instead of tasks, or None.
    """

    members: Mapping[str, AssignedMember]
    joins_again: bool
    followup_at: datetime | None
    is_postponed: bool
    error: ErrorForAll | None


@define(eq=False)
class ClassicRounds:
    """The rounds of a group.

    Attributes:
        application: The application, whose processes carry out what they read.
        versions: The latest version of user data that each process has, by its name; that of this package without one.
        generation: The generation of the last round.
    """

    application: StoryApplication
    versions: Mapping[str, int]
    generation: int = 0
    _leader: str = ""
    _postponed: int = 0
    _used: dict[str, int] = field(factory=dict)

    def lead(self, registered: Registered, configs: AssignmentConfigs) -> StoryRound:
        """Lead a round, and let members carry out what they read.

        Args:
            registered: The leader's assignor.
            configs: The configuration of the application.

        Raises:
            LeadingError: The assignor has failed, or its result is wrong.
        """
        self._note_versions()
        members = {id_: data for each in self.application.group.present for id_, data in self._subscriptions(each)}
        # The broker keeps the first member that has joined as the leader as long as it lives.
        self._leader = self._leader if self._leader in members else next(iter(members))
        self.generation += 1
        now_ms = (self.application.now - EPOCH) // timedelta(milliseconds=1)
        led = led_round(self._asked(members, registered, configs), now_ms)
        self._postponed = self._postponed + 1 if led.is_postponed else 0
        if led.error is not None:
            return StoryRound(members={}, joins_again=False, followup_at=None, is_postponed=False, error=led.error)
        return self._carried_out(led)

    def _note_versions(self) -> None:
        """Forget the versions of processes that are away: they begin with their latest one again."""
        names = [each.name for each in self.application.group.present]
        self._used = {name: self._used.get(name, self._latest(name)) for name in names}

    def _latest(self, name: str) -> int:
        return self.versions.get(name, LATEST_VERSION)

    def _asked(self, members: Mapping[str, bytes], registered: Registered, configs: AssignmentConfigs) -> AskedRound:
        """Return the round as if brokers had been asked: the story knows the topics and their ends."""
        application = self.application
        subtopologies = application.subtopologies.values()
        ends = {task: application.ends.get(task, 0) for task, info in application.tasks.items() if info.is_stateful}
        return AskedRound(
            given=GroupRound(
                generation=self.generation,
                member_id=self._leader,
                members=members,
                topology=_topology(application),
                settings=LeaderSettings(application_id=APPLICATION, assignment=configs, assignor=registered),
                postponed=self._postponed,
            ),
            subscriptions=read_subscriptions(members),
            tasks=application.tasks,
            ends=ChangelogEnds(ends),
            read_counts={topic: each.tasks for each in subtopologies for topic in each.topics},
        )

    # -------------------------------------------------------------------------------- what members send

    def _subscriptions(self, process: StoryProcess) -> Iterator[tuple[str, bytes]]:
        topics = sorted(topic for each in self.application.subtopologies.values() for topic in each.topics)
        for member_id, member in process.inputs(topics).items():
            owned = member.owned_partitions
            yield (
                member_id,
                ConsumerProtocolSubscription(
                    topics=tuple(topics),
                    user_data=self._user_data(process, member),
                    owned_partitions=partitions_by_name(owned),
                    generation_id=self.generation if owned else NO_GENERATION,
                    rack_id=process.rack,
                ).encode(),
            )

    def _user_data(self, process: StoryProcess, member: MemberInput) -> bytes:
        return SubscriptionInfo(
            process_id=UUID(str(process.id)),
            version=self._used[process.name],
            latest_supported_version=self._latest(process.name),
            task_offset_sums=self._sums(process, member),
            unique_field=self.generation % 100,
            client_tags=tuple(process.tags.items()),
        ).encode()

    def _sums(self, process: StoryProcess, member: MemberInput) -> TaskOffsetSums:
        ends = self.application.ends
        tasks = sorted((member.active_tasks | member.standby_tasks) & ends.keys(), key=_order)
        positions = {task: process.disk.get(task, 0) for task in tasks}
        # A task that restores its state does not run yet.
        running = {task for task in member.active_tasks & positions.keys() if positions[task] == ends[task]}
        return tuple((task, RUNNING_TASK if task in running else offset) for task, offset in positions.items())

    # -------------------------------------------------------------------------------- what members read

    def _carried_out(self, led: LedRound) -> StoryRound:
        read = {member_id: _read(data) for member_id, data in led.assignments.items()}
        members = {member_id: member for member_id, (_, member) in read.items()}
        infos = {member_id: info for member_id, (info, _) in read.items()}
        joins_again = self._has_new_version(infos) or any(self._has_to_join(members, infos))
        self.application.carry_out(members)
        times = [*(info.next_rebalance_ms for info in infos.values()), led.follow_up_ms]
        due_ms = min((each for each in times if each not in (None, _AT_ONCE_MS)), default=None)
        return StoryRound(
            members=members,
            joins_again=joins_again,
            followup_at=None if due_ms is None else EPOCH + timedelta(milliseconds=due_ms),
            is_postponed=led.is_postponed,
            error=None,
        )

    def _has_to_join(
        self, members: Mapping[str, AssignedMember], infos: Mapping[str, AssignmentInfo]
    ) -> Iterator[bool]:
        """Yield for each member whether it has given up tasks, or waits for some."""
        for process in self.application.group.present:
            for member_id, had in process.members.items():
                yield bool(had.active_tasks - members[member_id].active_tasks)
                yield infos[member_id].next_rebalance_ms == _AT_ONCE_MS

    def _has_new_version(self, infos: Mapping[str, AssignmentInfo]) -> bool:
        """Let members take the version that all can read. Return whether it is another one for any of them."""
        before = dict(self._used)
        for process in self.application.group.present:
            info = infos[next(iter(process.members))]
            if info.commonly_supported_version > before[process.name] or info.version < before[process.name]:
                self._used[process.name] = info.commonly_supported_version
        return self._used != before


def _order(task: TaskId) -> tuple[int, int]:
    return int(task.subtopology_id), task.partition


def _read(data: bytes) -> tuple[AssignmentInfo, AssignedMember]:
    assignment = ConsumerProtocolAssignment.decode(data)
    info = decode_assignment(assignment.user_data)
    inputs = info.inputs(assignment.assigned_partitions)
    return info, AssignedMember(
        active_tasks=frozenset(inputs),
        standby_tasks=frozenset(task for task, _ in info.standby_tasks),
        partitions=frozenset(partition for each in inputs.values() for partition in each),
        user_data=assignment.user_data,
    )


def _topology(application: StoryApplication) -> GroupTopology:
    return GroupTopology(
        tuple(
            Subtopology(
                subtopology_id=each.id,
                source_topics=tuple(sorted(each.topics)),
                changelogs=(ChangelogTopic(f"{APPLICATION}-store-{each.id}-changelog"),) if each.is_stateful else (),
            )
            for _, each in sorted(application.subtopologies.items(), key=lambda it: int(it[0]))
        )
    )
