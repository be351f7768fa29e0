"""Member epochs on the wire: what a heartbeat was answered with, the group must know afterwards."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from kafka_groups.protocol.error_codes import ErrorCode

__all__ = ["MemberEpochs"]

_FORGOTTEN = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND)


class MemberEpochs:
    """The epoch with which each member of a group was answered last.

    Args:
        session_timeout_ms: Returns how long a member stays in the group at least, after it has sent a heartbeat.
    """

    def __init__(self, session_timeout_ms: Callable[[], int]) -> None:
        self._session_timeout_ms = session_timeout_ms
        self._known: dict[str, tuple[int, int]] = {}
        self._asked: Counter[str] = Counter()  # since the last answer

    def asked(self, request: Any) -> None:
        """A heartbeat is being sent."""
        self._asked[request.member_id] += 1

    def answered(self, request: Any, response: Any, sent_ms: int, now_ms: int) -> Iterator[str]:
        """A response is being sent: yield what is wrong with it.

        After a heartbeat without an answer it is not certain what the group knows: it may have been lost, or handled.
        """
        member_id = request.member_id
        if response.error_code is ErrorCode.NONE:
            self._asked[member_id] = 0
            self._known[member_id] = (response.member_epoch, sent_ms)
            return
        epoch, known_ms = self._known.get(member_id, (0, 0))
        is_forgotten = response.error_code in _FORGOTTEN and request.member_epoch == epoch > 0
        if is_forgotten and self._asked[member_id] == 1 and now_ms < known_ms + self._session_timeout_ms():
            yield f"{member_id}: was answered with epoch {epoch}, and then {response.error_code.name}"
