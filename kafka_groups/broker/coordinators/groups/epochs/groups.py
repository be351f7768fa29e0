"""The groups of one type on one shard, with the deadlines of their members: what is alike for all types with epochs."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

from kafka_groups.broker.coordinators.groups.epochs.group import EpochGroup, GroupWithMembers
from kafka_groups.broker.coordinators.groups.epochs.group_deadlines import Deadline, DeadlineKind, GroupTimers
from kafka_groups.broker.coordinators.result import Result
from kafka_groups.errors import GroupIdNotFoundError, NonEmptyGroupError

__all__ = ["EpochGroups", "RebalancingGroups"]

_GROUPS_AT_ONCE = 200
"""The number of groups that start together after loading."""
_SHORTEST_MS = 1


class _ReplayedGroup(GroupWithMembers, Protocol):
    def replay(self, record: Any) -> None: ...


G = TypeVar("G", bound=_ReplayedGroup)
E = TypeVar("E", bound=EpochGroup[Any, Any, Any, Any])
R = TypeVar("R")


class EpochGroups(ABC, Generic[G, R]):
    """The groups of one type on one shard, and the deadlines of their members."""

    def __init__(self) -> None:
        self._groups: dict[str, G] = {}
        self._timers = GroupTimers()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self._groups)} groups, {len(self._timers)} deadlines>"

    @property
    def groups(self) -> Mapping[str, G]:
        """The hard state: groups by id. Do not modify them."""
        return MappingProxyType(self._groups)

    def group(self, group_id: str) -> G:
        """Return one group. Do not modify it.

        Raises:
            GroupIdNotFoundError: The group does not exist.
        """
        group = self._groups.get(group_id)
        if group is None:
            raise GroupIdNotFoundError(f"Group {group_id} not found.")
        return group

    def check_empty(self, group_id: str) -> None:
        """Check that a group may be deleted.

        Raises:
            GroupIdNotFoundError: The group does not exist.
            NonEmptyGroupError: The group has members.
        """
        if self.group(group_id).members:
            raise NonEmptyGroupError(f"Group {group_id} is not empty.")

    # ---------------------------------------------------------------------------------------- hard state

    @abstractmethod
    def _new_group(self, group_id: str) -> G:
        """Return a group without records."""

    @abstractmethod
    def _forget(self, group_id: str) -> None:
        """Drop the soft state of a group that is gone."""

    def replay(self, record: Any) -> None:
        """Apply a record to the state. The order of records with different keys does not matter."""
        group = self._groups.get(record.group_id)
        if group is None:
            group = self._groups[record.group_id] = self._new_group(record.group_id)
        group.replay(record)
        # There is no record that deletes a group: it ends with the tombstone of its last record.
        if record.value is None and group == self._new_group(record.group_id):
            del self._groups[record.group_id]
            self._forget(record.group_id)

    def loaded(self, now_ms: int) -> Iterator[Result[None, R]]:
        """Begin to look after the groups that were loaded, and return what is outstanding."""
        group_ids = iter(tuple(self._groups))
        # A shard may have very many groups. Between the turns, the broker serves other requests.
        while some := tuple(islice(group_ids, _GROUPS_AT_ONCE)):
            yield self._start_all([self._groups[group_id] for group_id in some], now_ms)

    def _start_all(self, groups: Sequence[G], now_ms: int) -> Result[None, R]:
        for group in groups:
            self._start(group, now_ms)
        return Result(None)

    def _start(self, group: G, now_ms: int) -> None:
        """Give every member of a group a new session."""
        # The sessions of the former coordinator are not known. Each member gets a full one, as with
        # GroupMetadataManager.onLoaded in Kafka: nobody is removed because the coordinator has moved.
        for member_id in group.members:
            self.extend_session(group, member_id, now_ms)

    # ----------------------------------------------------------------------------------------- deadlines

    @abstractmethod
    def _session_timeout_ms(self, group: G, member_id: str) -> int:
        """Return how long a member may be silent."""

    def next_deadline_ms(self) -> int | None:
        """Return the time at which `expire` has something to do, or None."""
        return self._timers.next_deadline_ms()

    def extend_session(self, group: G, member_id: str, now_ms: int) -> None:
        """Expect a heartbeat of a member."""
        deadline_ms = now_ms + self._session_timeout_ms(group, member_id)
        self._timers.set(Deadline(group.group_id, member_id, DeadlineKind.SESSION), deadline_ms)

    def stop_waiting(self, group_id: str, member_id: str) -> None:
        """Expect nothing of a member any more."""
        for kind in DeadlineKind:
            self._timers.cancel(Deadline(group_id, member_id, kind))


class RebalancingGroups(EpochGroups[E, R]):
    """Groups whose members have a rebalance timeout. In share groups nothing is revoked (KIP-932)."""

    def _start(self, group: E, now_ms: int) -> None:
        """Give every member of a group a new session, and the time to revoke what it must."""
        super()._start(group, now_ms)
        for member_id in group.members:
            # Members that had yet to revoke get their full rebalance timeout again, as with
            # GroupMetadataManager.onLoaded in Kafka.
            self._watch_rebalance(group, member_id, now_ms)

    def _watch_rebalance(self, group: E, member_id: str, now_ms: int) -> None:
        """Expect a member to revoke what it has to within its rebalance timeout."""
        deadline = Deadline(group.group_id, member_id, DeadlineKind.REBALANCE)
        # There are two cases. A member in a state of revocation has to confirm in time, or what it holds would block
        # others for ever. A member in any other state has nothing to confirm.
        if group.is_awaited(member_id):
            self._expect_within_rebalance(deadline, group, now_ms)
        else:
            self._timers.cancel(deadline)

    def _expect_within_rebalance(self, deadline: Deadline, group: E, now_ms: int) -> None:
        """Set a deadline to the end of a member's rebalance timeout."""
        # A member may report a timeout of 0. The deadline still has to lie in the future, so that a response can reach
        # the member.
        timeout_ms = group.members[deadline.member_id].rebalance_timeout_ms
        self._timers.set(deadline, now_ms + max(timeout_ms, _SHORTEST_MS))
