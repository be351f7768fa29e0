"""Polling a consumer repeatedly: the rules that workers, drains and sources share.

They decide which errors end the work, when a commit is retried, and whether an empty poll shows that there are no
records, which needs a broker that has answered a fetch.
"""

import logging
from collections.abc import Callable, Collection
from typing import Final, Protocol, TypeVar

from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.errors import (
    BootstrapError,
    CorruptRecordError,
    InvalidRecordStateError,
    InvalidRequestError,
    KafkaGroupsError,
    OperationTimeoutError,
    RenewalUnsupportedError,
    UnknownServerError,
    is_retriable,
)
from kafka_groups.share.delivery.commits import CommitResult, CommitTicket
from kafka_groups.share.delivery.share_records import AnyRecords, ShareRecords
from kafka_groups.types import ConsumerState

__all__ = ["Polled", "Poller", "is_answered", "is_passing", "no_fetch_answered"]

_LOG = logging.getLogger(__name__)
_COMMIT_TRIES: Final = 5

T = TypeVar("T")

_PASSING: Final = (
    CorruptRecordError,
    InvalidRecordStateError,
    InvalidRequestError,
    RenewalUnsupportedError,
    UnknownServerError,
)
"""A batch that was rejected as unreadable, locks that cannot be renewed, and what brokers say of a single request."""

Notice = Callable[[KafkaGroupsError], None]


class Polled(Protocol):
    """The consumer that is polled; `KafkaShareConsumer` is one."""

    @property
    def has_fetched(self) -> bool:
        """True if a broker has answered a fetch."""
        ...

    @property
    def state(self) -> ConsumerState:
        """The state of the consumer."""
        ...

    def assignment(self) -> Collection[object]:
        """Return the partitions that it fetches from."""
        ...

    def poll(self, timeout: float | None = None, *, hold: bool = False) -> AnyRecords:
        """Wait for records."""
        ...

    def commit_sync(self) -> CommitResult:
        """Send the acknowledgements and wait."""
        ...

    def commit_async(self, *, with_next_fetch: bool = False) -> CommitTicket:
        """Send the acknowledgements without waiting."""
        ...


def is_passing(error: KafkaGroupsError, *, has_fetched: bool) -> bool:
    """Return whether polling can continue after an error.

    Args:
        error: The error of a poll or commit.
        has_fetched: Whether a broker has answered a fetch before. If not, unreachable brokers are considered a mistake
            in the configuration and not an outage.
    """
    if isinstance(error, BootstrapError):
        return has_fetched
    # Of the errors that are not retriable, these concern single records or requests, and the consumer has dealt with
    # them. All others, such as a missing right or an unsupported version, would come again with every poll.
    return isinstance(error, _PASSING) or is_retriable(error)


def is_answered(consumer: Polled) -> bool:
    """Return whether an empty poll means that there were no records.

    It does not before a broker has answered a fetch, without partitions, or during an outage.
    """
    is_reached = consumer.state is not ConsumerState.UNREACHABLE
    return is_reached and consumer.has_fetched and bool(consumer.assignment())


class Poller:
    """Polls a consumer and commits for it, and continues after temporary errors.

    Args:
        consumer: The consumer.
        notice: Called with each error after which polling continues.
    """

    def __init__(self, consumer: Polled, notice: Notice) -> None:
        self._consumer = consumer
        self._notice = notice
        self._ending: KafkaGroupsError | None = None

    def poll(self, timeout_ms: int, *, hold: bool = False) -> AnyRecords:
        """Wait for records; empty after a temporary error.

        Raises:
            KafkaGroupsError: The group can no longer be read.
        """
        self._raise_ending()
        try:
            return self._consumer.poll(timeout_ms / 1000, hold=hold)
        except KafkaGroupsError as error:
            self.survive(error)
            return ShareRecords()

    def commit(self) -> CommitResult | None:
        """Send the acknowledgements, and wait until the brokers have confirmed or refused them.

        A background error is raised before anything is sent, so the commit is retried. If the error ends the work, the
        next poll raises it: the acknowledgements are for processed records, so they are sent first.

        Returns:
            An error or None for each partition; None if the result is unknown.
        """
        return self._tried(self._committed)

    def begin_commit(self) -> CommitTicket | None:
        """Send the acknowledgements with the next fetch, without waiting; `commit` waits for them.

        Returns:
            The commit; None if nothing could be sent.
        """
        return self._tried(lambda: self._consumer.commit_async(with_next_fetch=True))

    def _committed(self) -> CommitResult | None:
        try:
            return self._consumer.commit_sync()
        except OperationTimeoutError as error:
            # The brokers may have taken the acknowledgements or not. The records count as not confirmed, which costs
            # duplicates at most.
            self._notice(error)
            return None

    def _tried(self, commit: Callable[[], T]) -> T | None:
        for _ in range(_COMMIT_TRIES):
            try:
                return commit()
            except KafkaGroupsError as error:
                self._put_off(error)
        return None

    def survive(self, error: KafkaGroupsError) -> None:
        """Report a temporary error.

        Raises:
            KafkaGroupsError: The error is not temporary.
        """
        if not is_passing(error, has_fetched=self._consumer.has_fetched):
            raise error
        self._notice(error)

    def _put_off(self, error: KafkaGroupsError) -> None:
        try:
            self.survive(error)
        except KafkaGroupsError as ending:
            # Raised by the next poll: whoever commits has processed the records, and needs the commit to be tried again
            # first.
            self._ending = self._ending or ending

    def _raise_ending(self) -> None:
        if self._ending is not None:
            raise self._ending


def no_fetch_answered(config: ShareConsumerConfig, seconds: float, *, is_assigned: bool) -> OperationTimeoutError:
    """Return the error to raise if the brokers do not answer, so that it does not look like an empty topic.

    Args:
        config: The configuration of the consumer.
        seconds: The duration of the attempts.
        is_assigned: Whether the group gave it partitions.
    """
    servers = ", ".join(f"{host}:{port}" for host, port in config.bootstrap_servers)
    if is_assigned:
        why = "the brokers that lead its partitions do not answer"
    else:
        why = f"it was assigned no partition; check that {servers} can be reached, or wait until the group has settled"
    return OperationTimeoutError(
        f"The fetches of the share group {config.group_id!r} were not answered within {seconds:g} s: {why}. Whether"
        " there are records is not known."
    )
