"""The states of a classic group, as a transition table."""

import enum
from collections.abc import Mapping
from types import MappingProxyType

from kafka_groups.errors import IllegalStateError

__all__ = ["CLASSIC_GROUP_TRANSITIONS", "ClassicGroupEvent", "ClassicGroupState", "next_classic_group_state"]


class ClassicGroupState(enum.StrEnum):
    """The state of a classic group, with the name that DescribeGroups and ListGroups use."""

    EMPTY = "Empty"
    """No members. Offsets may be committed by consumers that do not join."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """A round has started: the group waits until all members have joined it."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """All members have joined: the group waits for the leader's assignments."""
    STABLE = "Stable"
    """Every member has an assignment."""
    DEAD = "Dead"
    """Deleted."""


class ClassicGroupEvent(enum.Enum):
    """An event that changes the state of a classic group."""

    REBALANCE = "rebalance"
    JOINED = "joined"
    EMPTIED = "emptied"
    SYNCED = "synced"
    DELETED = "deleted"


# The pairs are those of ClassicGroupState.validPreviousStates in Kafka, by event. Kafka also allows Dead after Dead,
# for requests that meet a group while it is being deleted. Here a deleted group is gone.
_S, _E = ClassicGroupState, ClassicGroupEvent

CLASSIC_GROUP_TRANSITIONS: Mapping[tuple[ClassicGroupState, ClassicGroupEvent], ClassicGroupState] = MappingProxyType({
    (_S.EMPTY, _E.REBALANCE): _S.PREPARING_REBALANCE,
    (_S.EMPTY, _E.DELETED): _S.DEAD,
    (_S.PREPARING_REBALANCE, _E.JOINED): _S.COMPLETING_REBALANCE,
    (_S.PREPARING_REBALANCE, _E.EMPTIED): _S.EMPTY,
    (_S.PREPARING_REBALANCE, _E.DELETED): _S.DEAD,
    (_S.COMPLETING_REBALANCE, _E.SYNCED): _S.STABLE,
    (_S.COMPLETING_REBALANCE, _E.REBALANCE): _S.PREPARING_REBALANCE,
    (_S.COMPLETING_REBALANCE, _E.DELETED): _S.DEAD,
    (_S.STABLE, _E.REBALANCE): _S.PREPARING_REBALANCE,
    (_S.STABLE, _E.DELETED): _S.DEAD,
})  # fmt: skip
"""(state, event) → state. A missing pair is a bug of the caller."""


def next_classic_group_state(state: ClassicGroupState, event: ClassicGroupEvent) -> ClassicGroupState:
    """Return the state after the event.

    Raises:
        IllegalStateError: The event cannot happen in this state.
    """
    try:
        return CLASSIC_GROUP_TRANSITIONS[state, event]
    except KeyError:
        raise IllegalStateError(f"The event '{event.value}' is not possible in the group state '{state}'.") from None
