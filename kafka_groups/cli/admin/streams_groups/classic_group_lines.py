"""Lines that describe a classic group of a streams application."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from kafka_groups.admin import ClassicStreamsGroupDescription, ClassicStreamsGroupMember
from kafka_groups.types import TaskId

__all__ = ["classic_group_lines"]

_ERRORS: Final[Mapping[int, str]] = MappingProxyType({
    1: "an input topic is missing",
    2: "version probing",
    3: "the task assignor failed",
    4: "all members shut down",
})  # fmt: skip


def classic_group_lines(group: ClassicStreamsGroupDescription) -> Iterator[str]:
    """Yield the lines of a group: its state, and each process with its members."""
    lag = "unknown" if group.total_lag is None else group.total_lag
    yield f"{group.group_id} {group.state} lag={lag} members={len(group.members)} protocol=classic"
    for process_id, members in group.processes.items():
        yield f"  process {process_id}"
        for member in members:
            yield from _member(member)


def _member(member: ClassicStreamsGroupMember) -> Iterator[str]:
    optional = {
        "instance": member.instance_id,
        "rack": member.rack,
        "endpoint": None if member.user_endpoint is None else "{}:{}".format(*member.user_endpoint),
        "tags": ",".join(f"{key}={value}" for key, value in member.client_tags.items()) or None,
        "latest-version": member.latest_version if member.latest_version != member.version else None,
    }
    shown = "".join(f" {name}={value}" for name, value in optional.items() if value is not None)
    yield f"    {member.member_id} {member.client_id} {member.client_host} version={member.version}{shown}"
    roles = {"active": member.active_tasks, "standby": member.standby_tasks}
    yield "      " + ("; ".join(f"{role} {_tasks(ids)}" for role, ids in roles.items() if ids) or "no tasks")
    yield from (f"      {line}" for line in _details(member))


def _details(member: ClassicStreamsGroupMember) -> Iterator[str]:
    if member.owned_tasks != member.active_tasks:
        yield f"owned before: {_tasks(member.owned_tasks) or 'no tasks'}"
    known = ((task, total) for task, total in sorted(member.task_offset_sums.items()) if total is not None)
    positions = " ".join(f"{task}={total}" for task, total in known)
    if positions:
        yield f"changelog positions: {positions}"
    if member.rejoins_at_once:
        yield "joins again at once"
    if member.next_rebalance is not None:
        yield f"joins again at {member.next_rebalance.isoformat(timespec='seconds')}"
    if member.requests_shutdown:
        yield "asked all members to shut down"
    if member.error_code:
        yield f"error {member.error_code}: {_ERRORS.get(member.error_code, 'unknown')}"


def _tasks(tasks: Iterable[TaskId]) -> str:
    return " ".join(map(str, sorted(tasks)))
