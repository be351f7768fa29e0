"""Target assignments: the embedded coordinator is made to assign the tasks as the real Kafka has just done.

The assignors of the two are different ones, which `test_streams_assignor_against_kafka.py` compares. Here the
coordinators are compared, and with the same target assignment every field of them must be the same.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kafka_groups.assignment import MemberAssignment, MemberAssignments, StreamsGroupSpec, TopologyDescriber
from kafka_groups.assignment.group.sticky import StickyGroupAssignor

__all__ = ["next_target"]


@contextmanager
def next_target(described: Any) -> Iterator[None]:
    """Embedded coordinators assign tasks within the block as this described group has them assigned."""
    members = {each.member_id: _assignment(each.target_assignment) for each in described.members}

    def assign(_self: object, group: StreamsGroupSpec, _topology: TopologyDescriber) -> MemberAssignments:
        return MemberAssignments({member_id: members.get(member_id, MemberAssignment()) for member_id in group.members})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StickyGroupAssignor, "assign", assign)
        yield


def _assignment(target: Any) -> MemberAssignment:
    return MemberAssignment(_tasks(target.active_tasks), _tasks(target.standby_tasks))


def _tasks(listed: Any) -> dict[str, frozenset[int]]:
    return {each.subtopology_id: frozenset(each.partitions) for each in listed}
