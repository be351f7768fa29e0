"""Finds the coordinator of a group or of a transactional id (FindCoordinator, KIP-699)."""

from kafka_groups.acls import AclOperation
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.metadata import Metadata
from kafka_groups.client.requests import ClientResponse, OutgoingRequest, PollResult
from kafka_groups.client.rights import explained
from kafka_groups.errors import error_for
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.find_coordinator import (
    FIRST_WITH_MANY_KEYS,
    Coordinator,
    CoordinatorType,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

__all__ = ["CoordinatorManager"]


class CoordinatorManager:
    """Tracks the coordinator of one group or transactional id, and looks it up when it is needed but unknown.

    Args:
        key: The group or the transactional id.
        metadata: Stores the coordinator's address.
        errors: Receives errors that end the client, such as denied access or an invalid group id.
        backoff: Delays lookups after failures.
        timeout_ms: How long to wait for a response (`request.timeout.ms`).
        key_type: What the key is.

    Attributes:
        principal: Who asks, for texts about missing rights; None if the client does not know.
    """

    def __init__(
        self,
        key: str,
        metadata: Metadata,
        errors: BackgroundErrors,
        *,
        backoff: BackoffTimer,
        timeout_ms: int,
        key_type: CoordinatorType = CoordinatorType.GROUP,
    ) -> None:
        self.principal: str | None = None
        self._key = key
        self._key_type = key_type
        self._metadata = metadata
        self._errors = errors
        self._backoff = backoff
        self._timeout_ms = timeout_ms
        self._in_flight = False
        self.node_id: int | None = None
        self.wanted = False

    def mark_unknown(self) -> None:
        """Forget the coordinator, because it has moved or cannot be reached. It is looked up again."""
        # The address stays in the metadata: the broker may still lead partitions.
        self.node_id = None

    def poll(self, now_ms: int) -> PollResult:
        """Return a FindCoordinator request if the coordinator is wanted but unknown."""
        # A client that has ended must not look for coordinators any more, or denied access would be asked for again and
        # again.
        if self.node_id is not None or self._in_flight or not self.wanted or self._errors.fatal is not None:
            return PollResult()
        wait_ms = self._backoff.remaining_ms(now_ms)
        if wait_ms > 0:
            return PollResult(wait_ms=wait_ms)
        self._in_flight = True
        request = OutgoingRequest(ApiKey.FIND_COORDINATOR, self._build, node_id=None, timeout_ms=self._timeout_ms)
        return PollResult((request,))

    def _build(self, version: int) -> FindCoordinatorRequest:
        if version < FIRST_WITH_MANY_KEYS:
            return FindCoordinatorRequest(key=self._key, key_type=self._key_type)
        return FindCoordinatorRequest(coordinator_keys=(self._key,), key_type=self._key_type)

    def on_response(self, _request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Store the coordinator, or retry after the back-off."""
        self._in_flight = False
        response: FindCoordinatorResponse = answer.message
        found = response.found(self._key)[0]
        if found.error_code is ErrorCode.NONE:
            self._found(found)
        else:
            self._refused(found, now_ms)
        # After the back-off was set anew by success or failure, which would forget the throttle time.
        self._backoff.wait(response.throttle_time_ms, now_ms)

    def _found(self, found: Coordinator) -> None:
        self._backoff.succeeded()
        # A coordinator need not be in any response about topics, so this may be the first time that its address is
        # named.
        self._metadata.note_address(found.node_id, found.host, found.port)
        self.node_id = found.node_id

    def _refused(self, found: Coordinator, now_ms: int) -> None:
        is_group = self._key_type is CoordinatorType.GROUP
        what, purpose = ("group", AclOperation.READ) if is_group else ("transactional id", AclOperation.WRITE)
        told = error_for(found.error_code, f"{found.error_message or found.error_code.name} ({what} {self._key})")
        error = explained(told, ApiKey.FIND_COORDINATOR, (self._key,), self.principal, purpose)
        # COORDINATOR_NOT_AVAILABLE, for example, while __consumer_offsets is being created. Others, such as denied
        # access, are final (CoordinatorRequestManager.onFailedResponse in Java).
        if error.retriable:
            self._backoff.failed(now_ms)
        else:
            self._errors.report_fatal(error)

    def on_failure(self, _request: OutgoingRequest, _error: Exception, now_ms: int) -> None:
        """Retry after the back-off."""
        self._in_flight = False
        self._backoff.failed(now_ms)
