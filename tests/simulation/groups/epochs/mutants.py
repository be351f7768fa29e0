"""Defects planted on purpose in what consumer and streams groups do alike; each type of group names its own modules."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from kafka_groups.broker.coordinators.groups.epochs import members
from kafka_groups.broker.coordinators.groups.epochs.members import known_member
from kafka_groups.broker.coordinators.result import Result
from kafka_groups.broker.runtime.coordinator_runtime import CoordinatorRuntime
from tests.support.planted_defects import Patch

__all__ = ["end_no_sessions", "fence_nobody", "forget_on_load", "let_former_members_commit", "take_silence_as_nothing"]


def take_silence_as_nothing(patch: Patch, reconciliation: ModuleType) -> None:
    """Who does not say what it owns is taken to own nothing."""
    may_own = reconciliation._may_own
    patch.setattr(reconciliation, "_may_own", lambda owned, *rest: owned is not None and may_own(owned, *rest))


def let_former_members_commit(patch: Patch, groups: ModuleType, offsets: ModuleType) -> None:
    """Whoever is not a member may commit, as if the group were empty."""
    check = offsets.check_commit

    def check_members(group: Any, member_id: str, *rest: Any) -> None:
        if member_id in group.members:
            check(group, member_id, *rest)

    patch.setattr(groups, "check_commit", check_members)


def fence_nobody(patch: Patch, groups: ModuleType) -> None:
    """A member whose instance was started again is told that it is unknown, so that it joins once more."""

    def known_by_id(group: Any, member_id: str, _instance: str | None) -> Any:
        return known_member(group, member_id, None)

    for owner in (members, groups):
        patch.setattr(owner, "known_member", known_by_id)


def end_no_sessions(patch: Patch, groups: type) -> None:
    """After a load, no session ends."""

    def loaded(_self: Any, _now_ms: int) -> Iterator[Result[None, Any]]:
        yield Result(None)

    patch.setattr(groups, "loaded", loaded)


def forget_on_load(patch: Patch, groups: Any, *kinds: type) -> None:
    """A coordinator that takes over skips records of these types."""
    load_some, replay = CoordinatorRuntime._load_some, groups.replay
    is_loading = [False]

    def load_forgetting(self: CoordinatorRuntime[Any]) -> None:
        is_loading[0] = True
        load_some(self)
        is_loading[0] = False

    def replay_others(self: Any, record: Any) -> None:
        if not (is_loading[0] and isinstance(record, kinds)):
            replay(self, record)

    patch.setattr(CoordinatorRuntime, "_load_some", load_forgetting)
    patch.setattr(groups, "replay", replay_others)
