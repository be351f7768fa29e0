"""Tracks whether brokers respond, and finds the error to report if none ever did."""

from collections.abc import Iterable

from attrs import define, evolve, field, frozen

from kafka_groups.errors import (
    BootstrapError,
    KafkaGroupsError,
    OperationTimeoutError,
    WrongProtocolError,
    is_retriable,
)
from kafka_groups.errors.texts import sentences

__all__ = ["Address", "Reachability"]

Address = tuple[str, int]

_PATIENCE_MS = 10_000
"""A server that closes connections without a response may still be starting. After this time it counts as wrong."""


@frozen
class _FailedAttempts:
    """Attempts that failed one after the other, while the server may have been a wrong one.

    Attributes:
        error: The last error.
        since_ms: When the first of them began.
        attempts: How many there were.
    """

    error: KafkaGroupsError
    since_ms: int
    attempts: int = 1

    @property
    def may_be_wrong(self) -> bool:
        """True if nothing tells that there is no server just now."""
        return isinstance(self.error, (WrongProtocolError, OperationTimeoutError))

    @property
    def is_suspect(self) -> bool:
        """True if the server is probably no broker, or one with other settings."""
        return isinstance(self.error, WrongProtocolError)


@define
class Reachability:
    """The results of all attempts to reach brokers.

    A broker counts as reached once it has answered a request after the handshake. The handshake alone proves nothing:
    a listener that requires SASL answers ApiVersions, and then closes the connection at the next request.

    Attributes:
        timeout_ms: If no broker has ever answered, the application gets an error after this time.
        unreachable_since_ms: When the first attempt failed since a broker last answered; None while one answers.
        last_answer_ms: When a broker last answered a request; None if none has.
    """

    timeout_ms: int
    unreachable_since_ms: int | None = None
    last_answer_ms: int | None = None
    _failures: dict[Address, _FailedAttempts] = field(factory=dict, init=False)
    _tries: dict[Address, str] = field(factory=dict, init=False)
    _began_ms: dict[Address, int] = field(factory=dict, init=False)
    _first_try_ms: int | None = field(default=None, init=False)
    _proven: set[Address] = field(factory=set, init=False)
    _reported_ms: int | None = field(default=None, init=False)

    def trying(self, address: Address, so_far: str, now_ms: int) -> None:
        """Note that an attempt to reach a broker is under way.

        Args:
            address: The broker.
            so_far: What to tell the application if the time is up before the attempt has ended.
            now_ms: The time.
        """
        # When a broker has answered once, the first attempt is over for good.
        if self.last_answer_ms is None:
            self._tries[address] = so_far
            self._began_ms.setdefault(address, now_ms)
            self._first_try_ms = now_ms if self._first_try_ms is None else self._first_try_ms

    @property
    def may_report(self) -> bool:
        """True if there may be an error to report, now or later."""
        is_trying = self._first_try_ms is not None and self.last_answer_ms is None
        return is_trying or self.unreachable_since_ms is not None

    def answered(self, address: Address, now_ms: int) -> None:
        """Note that a broker answered a request."""
        self.last_answer_ms = now_ms
        self._tries.clear()
        self._began_ms.clear()
        self._proven.add(address)
        if self.unreachable_since_ms is not None or self._failures:
            self.unreachable_since_ms = self._reported_ms = None
            self._failures.pop(address, None)

    def is_proven(self, address: Address) -> bool:
        """Return whether a broker at this address has ever answered, which proves the configuration correct."""
        return address in self._proven

    def failed(self, address: Address, error: KafkaGroupsError, now_ms: int, *, another_works: bool) -> None:
        """Note that an attempt to reach a broker failed.

        Args:
            address: The broker.
            error: The reason.
            now_ms: The time.
            another_works: Whether there is an open connection to a broker that has answered on it.
        """
        before = self._failures.get(address)
        if before is not None and before.is_suspect:
            # A timeout says less than the server's earlier behaviour, and does not contradict it.
            error = before.error if isinstance(error, OperationTimeoutError) else error
        found = _FailedAttempts(error, self._began_ms.pop(address, now_ms))
        # A server that refused connections in between has been started again: it gets the same patience once more.
        if before is not None and before.may_be_wrong and found.may_be_wrong:
            found = evolve(found, since_ms=before.since_ms, attempts=before.attempts + 1)
        self._failures[address] = found
        if not another_works and self.unreachable_since_ms is None:
            self.unreachable_since_ms = now_ms

    def remaining_ms(self, now_ms: int) -> int | None:
        """Return how long until `take_error` may return an error; None if that does not depend on time."""
        if not self.may_report or self.last_answer_ms is not None:
            return None
        ends = (*map(self._patience_end_ms, self._suspects), self._timeout_end_ms())
        return min((end_ms - now_ms for end_ms in ends if end_ms > now_ms), default=None)

    def take_error(self, addresses: Iterable[Address], now_ms: int) -> KafkaGroupsError | None:
        """Return the error to report to the application now, if any.

        The same error is returned again only after further failures.

        Args:
            addresses: All addresses that the client knows.
            now_ms: The time.
        """
        if not self.may_report:
            return None
        # As long as one address has not failed, it may be the one that works.
        if self._failures and all(address in self._failures for address in addresses):
            found = self._certain() or self._suspected(now_ms)
            if found is not None:
                self._forget(found)
                return found
        if self.last_answer_ms is not None or now_ms < self._timeout_end_ms():
            return None  # a client that has worked keeps retrying, like the Java client
        self._reported_ms = now_ms
        if self.unreachable_since_ms is None:
            self.unreachable_since_ms = self._first_try_ms
        return BootstrapError(sentences(f"No broker has answered for {self.timeout_ms} ms", self.summary()))

    def summary(self) -> str:
        """Return the last error of each address, or how far the first attempt is, for messages."""
        found = self._tries | {address: str(failure.error) for address, failure in self._failures.items()}
        return sentences(*found.values())

    def _certain(self) -> KafkaGroupsError | None:
        # Such as a failed authentication or a certificate that does not fit: no retry changes it.
        return next((f.error for f in self._failures.values() if not is_retriable(f.error)), None)

    @property
    def _suspects(self) -> list[_FailedAttempts]:
        return [failed for failed in self._failures.values() if failed.is_suspect]

    def _suspected(self, now_ms: int) -> KafkaGroupsError | None:
        if self.last_answer_ms is not None:
            return None
        # At least twice, as a server that is just starting may close one connection.
        found = (f.error for f in self._suspects if f.attempts > 1 and now_ms >= self._patience_end_ms(f))
        return next(found, None)

    def _forget(self, error: KafkaGroupsError) -> None:
        self._failures = {address: f for address, f in self._failures.items() if f.error is not error}

    def _patience_end_ms(self, failed: _FailedAttempts) -> int:
        return failed.since_ms + min(_PATIENCE_MS, self.timeout_ms)

    def _timeout_end_ms(self) -> int:
        return (self._start_ms() if self._reported_ms is None else self._reported_ms) + self.timeout_ms

    def _start_ms(self) -> int:
        """Since when the client has tried: the first failure may come much later, after a connection's timeout."""
        return (self.unreachable_since_ms or 0) if self._first_try_ms is None else self._first_try_ms
