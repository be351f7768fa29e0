"""Classic groups that answer the questions of plans, in place of brokers."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from attrs import define, field

from kafka_groups.admin import StreamsPlan
from kafka_groups.admin.rules.group_topology.given_topology import GivenTopology
from kafka_groups.admin.rules.plans.classic_plan import plan_of_classic_group
from kafka_groups.admin.rules.plans.classic_topology import topology_of
from kafka_groups.admin.rules.plans.what_if import checked_classic_what_if
from kafka_groups.assignment import AssignedTaskType, AssignmentConfigs
from kafka_groups.client.calls.partition_offsets import EARLIEST
from kafka_groups.client.calls.questions import Question
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsResponse, DescribeGroupsResponseGroup
from kafka_groups.types import TaskId
from tests.support.assignors.answered_questions import AnsweringTopics
from tests.support.assignors.leader_cases import APPLICATION
from tests.support.assignors.led_rounds import LedCase, carried_out

__all__ = ["AnsweringGroup", "Placement", "after", "answering", "configs_of", "placement", "plan_of"]

K = TypeVar("K")
V = TypeVar("V")

Placement = Counter[tuple[TaskId, AssignedTaskType, str]]
"""Tasks with their roles, and the members that have them."""

_VERSION = 5
_READING = {ApiKey.METADATA, ApiKey.LIST_OFFSETS, ApiKey.OFFSET_FETCH, ApiKey.DESCRIBE_GROUPS, ApiKey.LIST_GROUPS}


@define
class AnsweringGroup:
    """A group and its topics. An instance is a function that asks questions, and refuses all that change something.

    Attributes:
        topics: The topics.
        group: The group.
        starts: The starts of the partitions of topics, which are 0 otherwise.
        refused_starts: The topics whose starts are refused.
    """

    topics: AnsweringTopics
    group: DescribeGroupsResponseGroup
    starts: Mapping[str, Sequence[int]] = field(factory=dict)
    refused_starts: Mapping[str, ErrorCode] = field(factory=dict)

    async def __call__(self, question: Question[K, V]) -> Results[K, V]:
        """Answer a question."""
        assert question.api in _READING
        if question.api is ApiKey.LIST_GROUPS:  # nobody tells types
            return Results()
        if question.api is ApiKey.DESCRIBE_GROUPS:
            return self._described(question)
        if question.api is ApiKey.LIST_OFFSETS and _timestamp(question) == EARLIEST:
            starts = {name: self.starts.get(name, (0,) * count) for name, count in self.topics.counts.items()}
            errors = {**self.topics.errors, ApiKey.LIST_OFFSETS: self.refused_starts}
            return await AnsweringTopics(self.topics.counts, starts, errors=errors)(question)
        return await self.topics(question)

    def _described(self, question: Question[K, V]) -> Results[K, V]:
        response: Any = DescribeGroupsResponse(groups=(self.group,))
        found: Mapping[K, Any] = question.read(question.keys, response)
        failed = {key: each for key, each in found.items() if isinstance(each, KafkaGroupsError)}
        return Results({key: each for key, each in found.items() if key not in failed}, failed)


def _timestamp(question: Question[Any, Any]) -> int:
    request: Any = question.build(question.keys, _VERSION)
    timestamps = {each.timestamp for topic in request.topics for each in topic.partitions}
    return timestamps.pop() if timestamps else 0


def answering(led: LedCase) -> AnsweringGroup:
    """Return the brokers of a group that has been led. They have the internal topics that the leader has created."""
    return AnsweringGroup(carried_out(led).topics, led.shown)


def plan_of(
    led: LedCase,
    assignor: object = None,
    configs: Mapping[str, object] | None = None,
    *,
    brokers: AnsweringGroup | None = None,
    topology: GivenTopology | None = None,
    **change: Any,
) -> StreamsPlan:
    """Plan a change of a group that has been led.

    Args:
        led: The group.
        assignor: The task assignor.
        configs: The configuration; None for that of the group.
        brokers: The brokers; None for those that know what the group knows.
        topology: The topology; None for that of the group.
        change: The change.
    """
    wanted = {"standby_replicas": None, "leaving": (), "joining": (), **change}
    what_if = checked_classic_what_if(assignor, configs_of(led.case.configs) if configs is None else configs, **wanted)
    now = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=led.case.now_ms)
    ask, given = brokers or answering(led), topology_of(topology or led.case.topology, APPLICATION)
    return asyncio.run(plan_of_classic_group(ask, APPLICATION, given, what_if, now))


def configs_of(configs: AssignmentConfigs) -> dict[str, object]:
    """Return configs by their keys."""
    return {
        "acceptable.recovery.lag": configs.acceptable_recovery_lag,
        "max.warmup.replicas": configs.max_warmup_replicas,
        "num.standby.replicas": configs.num_standby_replicas,
        "probing.rebalance.interval.ms": configs.probing_rebalance_interval_ms,
        "rack.aware.assignment.strategy": configs.rack_aware_assignment_strategy.value,
        "rack.aware.assignment.tags": configs.rack_aware_assignment_tags,
    }


# ---------------------------------------------------------------------------------------------- who has which tasks


def placement(led: LedCase) -> Placement:
    """Return the tasks that members were given."""
    found: Placement = Counter()
    for member_id, (_, info) in led.given.items():
        found.update((task, AssignedTaskType.ACTIVE, member_id) for task in set(info.active_tasks))
        found.update((task, AssignedTaskType.STANDBY, member_id) for task, _ in info.standby_tasks)
    return found


def after(before: Placement, plan: StreamsPlan, processes: Mapping[str, str]) -> Placement:
    """Return the tasks that members have when the moves of a plan are made.

    Args:
        before: The tasks that they have now.
        plan: The plan.
        processes: The process of each member.
    """
    found = Counter(before)
    for move in plan.moves:
        if move.source is not None:
            del found[move.task, move.role, move.source.member_id]
    for move in plan.moves:
        if move.target is None:
            continue
        # A task that changes its role in a process is one move.
        for task, role, member_id in list(found):
            if task == move.task and role is not move.role and processes[member_id] == move.target.process_id:
                del found[task, role, member_id]
    for move in plan.moves:
        if move.target is not None:
            found[move.task, move.role, move.target.member_id] += 1
    return found
