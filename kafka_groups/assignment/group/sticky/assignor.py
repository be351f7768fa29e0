"""The assignor's steps put together, between members' ids and small numbers."""

from attrs import frozen

from kafka_groups.assignment.group.group_assignor import (
    MemberAssignment,
    MemberAssignments,
    StreamsGroupSpec,
    TopologyDescriber,
)
from kafka_groups.assignment.group.sticky.active_tasks import assign_active
from kafka_groups.assignment.group.sticky.numbers import NumberedMembers, NumberedTasks
from kafka_groups.assignment.group.sticky.previous_assignment import PreviousAssignment
from kafka_groups.assignment.group.sticky.sticky_standby_tasks import assign_standby

__all__ = ["StickyGroupAssignor"]


@frozen
class StickyGroupAssignor:
    """The assignor `sticky`.

    Active tasks come first:

    1. A task stays with its former owner, as long as all members get equal numbers of tasks. Numbers may differ by one.
    2. A task that cannot stay goes to a process that has its state, if that has room: to another member of the former
       owner's process, to a former standby task, or to where members reported state, the highest offset first.
    3. All other tasks go to the least loaded members, in the least loaded process per member.

    Then each stateful task gets its standby tasks, each in a process of its own:

    1. The former owner keeps the state as a standby task, former standby tasks stay, and reported state is used.
    2. Missing standby tasks go to the least loaded members.
    3. Members with more than an equal share of all tasks pass standby tasks on to less loaded ones.
    """

    @property
    def name(self) -> str:
        """The name by which groups select this assignor."""
        return "sticky"

    def assign(self, group: StreamsGroupSpec, topology: TopologyDescriber) -> MemberAssignments:
        """Compute a new target assignment.

        Args:
            group: The members with their previous assignments, and the group's configs.
            topology: The tasks to assign.
        """
        # Nobody to give tasks to. A share of all tasks per member could not be computed either.
        if not group.members:
            return MemberAssignments({})
        tasks, members = NumberedTasks.of(topology), NumberedMembers.of(group)
        previous = PreviousAssignment.of(group, tasks, members)
        owners = assign_active(tasks, members, previous)
        standbys = assign_standby(tasks, members, previous, owners, group.configs.num_standby_replicas)
        active: list[list[int]] = [[] for _ in members.member_ids]
        for task, owner in enumerate(owners):
            active[owner].append(task)
        return MemberAssignments(
            {
                member_id: MemberAssignment(
                    tasks.by_subtopology(active[member]), tasks.by_subtopology(standbys[member])
                )
                for member, member_id in enumerate(members.member_ids)
            }
        )
