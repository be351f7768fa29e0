"""The member's reaction to each error of JoinGroup, SyncGroup and Heartbeat."""

import enum
from collections.abc import Mapping
from types import MappingProxyType

from kafka_groups.protocol.error_codes import ErrorCode

__all__ = ["REACTIONS", "ErrorReaction", "RoundStep", "reaction_to"]


class RoundStep(enum.Enum):
    """A question of the member to the coordinator."""

    JOIN = "JoinGroup"
    SYNC = "SyncGroup"
    HEARTBEAT = "Heartbeat"


class ErrorReaction(enum.Enum):
    """A reaction of the member to an error."""

    KEEP_ID = "join with the id that it was given"
    JOIN = "join"
    RETRY = "ask again after the back-off"
    JOIN_LATER = "join after the back-off"
    FIND = "find the coordinator, and ask again"
    FIND_AND_JOIN = "find the coordinator, and join"
    LOSE_ID = "forget the id, lose the tasks, and join"
    LOSE_TASKS = "keep the id, lose the tasks, and join"
    END = "end the member"


_C, _R = ErrorCode, ErrorReaction

# The reactions follow AbstractCoordinator's handlers of these responses in Java.
REACTIONS: Mapping[RoundStep, Mapping[ErrorCode, ErrorReaction]] = MappingProxyType({
    RoundStep.JOIN: MappingProxyType({
        _C.MEMBER_ID_REQUIRED: _R.KEEP_ID,
        _C.REBALANCE_IN_PROGRESS: _R.RETRY,
        _C.UNKNOWN_MEMBER_ID: _R.LOSE_ID,
        _C.ILLEGAL_GENERATION: _R.LOSE_TASKS,
        _C.NOT_COORDINATOR: _R.FIND,
        _C.COORDINATOR_NOT_AVAILABLE: _R.FIND,
        _C.COORDINATOR_LOAD_IN_PROGRESS: _R.RETRY,
        _C.UNKNOWN_SERVER_ERROR: _R.RETRY,
    }),
    RoundStep.SYNC: MappingProxyType({
        _C.REBALANCE_IN_PROGRESS: _R.JOIN,
        _C.UNKNOWN_MEMBER_ID: _R.LOSE_ID,
        _C.ILLEGAL_GENERATION: _R.LOSE_TASKS,
        _C.NOT_COORDINATOR: _R.FIND_AND_JOIN,
        _C.COORDINATOR_NOT_AVAILABLE: _R.FIND_AND_JOIN,
        _C.COORDINATOR_LOAD_IN_PROGRESS: _R.JOIN_LATER,
        _C.UNKNOWN_SERVER_ERROR: _R.JOIN_LATER,
    }),
    RoundStep.HEARTBEAT: MappingProxyType({
        _C.REBALANCE_IN_PROGRESS: _R.JOIN,
        _C.UNKNOWN_MEMBER_ID: _R.LOSE_ID,
        _C.ILLEGAL_GENERATION: _R.LOSE_TASKS,
        _C.NOT_COORDINATOR: _R.FIND,
        _C.COORDINATOR_NOT_AVAILABLE: _R.FIND,
        _C.COORDINATOR_LOAD_IN_PROGRESS: _R.RETRY,
        _C.UNKNOWN_SERVER_ERROR: _R.RETRY,
    }),
})  # fmt: skip
"""All errors that are not listed end the member."""


def reaction_to(step: RoundStep, code: ErrorCode) -> ErrorReaction:
    """Return the reaction to an error."""
    return REACTIONS[step].get(code, ErrorReaction.END)
