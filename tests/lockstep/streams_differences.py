"""What is ignored, allowed and left out in runs of streams groups, each with its reason.

Target assignments are not compared: see `told_targets.py`.
"""

import re
from collections.abc import Sequence
from typing import Any

from kafka_groups.protocol.messages.streams_group_heartbeat import JOIN_GROUP_EPOCH
from tests.lockstep.differences import Allowed, Difference, Ignored
from tests.lockstep.side import Side
from tests.lockstep.steps import Step
from tests.lockstep.streams_steps import StreamsHeartbeat

IGNORED = (Ignored(r".*\.status_detail", "the words differ, the codes may not"),)


_PARTITIONS = r"StreamsGroupDescribeResponse\..*\.topology\.subtopologies\[.*\.partitions"
_DESCRIBED_LATE = (
    "Kafka describes the state after the last record. If numbers of partitions become known or unknown without one, as "
    "in the second heartbeat of a new group or in one that fails, the next record shows it"
)


def _is_malformed(steps: Sequence[Step]) -> bool:
    last = steps[-1]
    return isinstance(last, StreamsHeartbeat) and last.is_malformed


ALLOWED = (
    Allowed(
        name="malformed topology",
        path=r"StreamsGroupHeartbeatResponse\.error_code",
        when=_is_malformed,
        reason="Kafka mostly fails with UNKNOWN_SERVER_ERROR. Here the response says what is wrong: a position in a "
        "copartition group that its list does not have, an id of two sub-topologies, a negative epoch",
    ),
    Allowed(
        name="epoch of endpoints of a group that had offsets",
        path=r"StreamsGroupHeartbeatResponse\.endpoint_information_epoch",
        real=1,
        embedded=0,
        parts_ways=True,
        reason="Kafka leaves the epoch out in the first heartbeat of a group, but not if the group id has offsets that "
        "were committed from outside. Here that does not matter. So the next response has the endpoints again",
    ),
    Allowed(name="description before the next record", path=_PARTITIONS, real=0, reason=_DESCRIBED_LATE),
    Allowed(name="description before the next record", path=_PARTITIONS, embedded=0, reason=_DESCRIBED_LATE),
)

CACHED_TARGET = Allowed(
    name="cached target assignment",
    path=r"Streams.*",
    parts_ways=True,
    reason="Kafka keeps a copy of the target assignment for each assignment epoch. A heartbeat with the instance id of "
    "another member moves that member's tasks to the new id in it, even if it is refused. A member that left and "
    "joins again before the next assignment has its former tasks in it",
)
"""Only after a heartbeat that was refused because of its instance id or that left, until the next assignment epoch."""

FAILED_HEARTBEAT = Allowed(
    name="after a heartbeat that failed",
    path=r"Streams.*",
    parts_ways=True,
    reason="a heartbeat that fails with UNKNOWN_SERVER_ERROR changes what Kafka keeps in memory, such as whether "
    "topics must be looked at again, so that a later heartbeat increases the group epoch once more",
)
"""Only after such a heartbeat. It fails on both sides: members have endpoints, and topics are missing or do not fit."""


def is_left_out(step: Step, side: Side, described: Any) -> bool:
    """Whether a step is not taken: a member takes the place of another one, a static member that is away.

    No client does this. Kafka computes what it may own with the tasks that it had before, but does not keep them.

    Args:
        step: The step.
        side: A side of the run.
        described: The group after the last step, or None before the first one.
    """
    if not isinstance(step, StreamsHeartbeat) or described is None or step.fresh or step.epoch != JOIN_GROUP_EPOCH:
        return False
    instances = {each.member_id: each.instance_id for each in described.members}
    mine, wanted = instances.get(step.member_id(side), ""), step.instance_id()
    return mine != "" and wanted is not None and wanted != mine and wanted in instances.values()


_IGNORED = re.compile("|".join(f"(?:{each.path})" for each in IGNORED))


def without_ignored(found: Sequence[Difference]) -> list[Difference]:
    """The differences without the ignored fields of streams groups."""
    return [each for each in found if not _IGNORED.fullmatch(each.path)]


def allowed_by(
    steps: Sequence[Step], found: Sequence[Difference], aftermath: tuple[Allowed, ...]
) -> list[Allowed] | None:
    """The entries that allow what differs after these steps, or None if something is not allowed.

    Args:
        steps: The steps of the run.
        found: What differs after the last one.
        aftermath: More entries, because of what happened before.
    """
    known = (*ALLOWED, *aftermath)
    entries = [next((each for each in known if each.covers(steps, one)), None) for one in found]
    return [each for each in entries if each] if all(entries) else None
