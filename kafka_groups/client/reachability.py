"""Whether the brokers answer, since when they do not, and what is probably wrong if none ever did."""

from collections.abc import Iterable

from attrs import define, field, frozen

from kafka_groups.errors import BootstrapError, KafkaGroupsError, WrongProtocolError, is_retriable

__all__ = ["Address", "Reachability"]

Address = tuple[str, int]

_PATIENCE_MS = 10_000
"""A server that closes connections without a word may be starting. After this time it is taken for a wrong one."""


@frozen
class _Failure:
    error: KafkaGroupsError
    attempts: int


@define
class Reachability:
    """What the attempts to reach brokers have come to.

    A broker counts as reached once it has answered a request after the handshake: a listener that wants SASL answers
    ApiVersions, and then closes the connection at the next request.

    Attributes:
        timeout_ms: How long no broker may answer before the application gets an error, if none ever did.
        unreachable_since_ms: When the first attempt failed since a broker last answered; None while one answers.
        last_answer_ms: When a broker last answered a request; None before.
    """

    timeout_ms: int
    unreachable_since_ms: int | None = None
    last_answer_ms: int | None = None
    _failures: dict[Address, _Failure] = field(factory=dict, init=False)
    _proven: set[Address] = field(factory=set, init=False)
    _reported_ms: int | None = field(default=None, init=False)

    def answered(self, address: Address, now_ms: int) -> None:
        """A broker answered a request."""
        self.last_answer_ms = now_ms
        self._proven.add(address)
        if self.unreachable_since_ms is not None or self._failures:
            self.unreachable_since_ms = self._reported_ms = None
            self._failures.pop(address, None)

    def is_proven(self, address: Address) -> bool:
        """Whether there is a usable broker at this address, or was: then nothing is wrong with the configuration."""
        return address in self._proven

    def failed(self, address: Address, error: KafkaGroupsError, now_ms: int, *, another_works: bool) -> None:
        """An attempt to reach a broker failed.

        Args:
            address: The broker.
            error: Why.
            now_ms: The time.
            another_works: Whether a connection to some broker is open that has answered.
        """
        before = self._failures.get(address)
        self._failures[address] = _Failure(error, 1 if before is None else before.attempts + 1)
        if not another_works and self.unreachable_since_ms is None:
            self.unreachable_since_ms = now_ms

    def remaining_ms(self, now_ms: int) -> int | None:
        """Return how long until `take_error` may return an error; None if only another event can change that."""
        if self.unreachable_since_ms is None or self.last_answer_ms is not None:
            return None
        ends = (self._patience_end_ms(), self._timeout_end_ms())
        return min((end_ms - now_ms for end_ms in ends if end_ms > now_ms), default=None)

    def take_error(self, addresses: Iterable[Address], now_ms: int) -> KafkaGroupsError | None:
        """Return the error that the application must see now; each one once, and again after more failures.

        Args:
            addresses: All addresses that the client knows.
            now_ms: The time.
        """
        if self.unreachable_since_ms is None:
            return None
        if self._failures and all(address in self._failures for address in addresses):
            found = self._certain() or self._suspected(now_ms)
            if found is not None:
                self._forget(found)
                return found
        if self.last_answer_ms is not None or now_ms < self._timeout_end_ms():
            return None  # a client that has worked keeps trying, as in Java
        self._reported_ms = now_ms
        return BootstrapError(f"No broker has answered for {self.timeout_ms} ms. {self.summary()}")

    def summary(self) -> str:
        """The last error of each address, for messages."""
        return "; ".join(str(failure.error) for failure in self._failures.values())

    def _certain(self) -> KafkaGroupsError | None:
        return next((f.error for f in self._failures.values() if not is_retriable(f.error)), None)

    def _suspected(self, now_ms: int) -> KafkaGroupsError | None:
        if self.last_answer_ms is not None or now_ms < self._patience_end_ms():
            return None
        found = (f.error for f in self._failures.values() if isinstance(f.error, WrongProtocolError) and f.attempts > 1)
        return next(found, None)

    def _forget(self, error: KafkaGroupsError) -> None:
        self._failures = {address: f for address, f in self._failures.items() if f.error is not error}

    def _patience_end_ms(self) -> int:
        return (self.unreachable_since_ms or 0) + min(_PATIENCE_MS, self.timeout_ms)

    def _timeout_end_ms(self) -> int:
        since_ms = self._reported_ms if self._reported_ms is not None else self.unreachable_since_ms
        return (since_ms or 0) + self.timeout_ms
