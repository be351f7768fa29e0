"""One consumer that is polled again and again: the rules that workers, drains and sources share.

They are: which errors end the work and which pass, when a commit is tried again, and whether a broker has ever answered
a fetch, so that an empty poll means something.
"""

import logging
from collections.abc import Callable, Collection
from typing import Final, Protocol

from kafka_groups.config.share import ShareConsumerConfig
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
from kafka_groups.share.delivery.commits import CommitResult
from kafka_groups.share.delivery.records import AnyRecords, ShareRecords
from kafka_groups.types import ConsumerState

__all__ = ["Polled", "Poller", "is_answered", "is_passing", "no_fetch_answered"]

_LOG = logging.getLogger(__name__)
_COMMIT_TRIES: Final = 5

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
    """What is polled; `KafkaShareConsumer`."""

    @property
    def has_fetched(self) -> bool:
        """Whether a broker has answered a fetch."""
        ...

    @property
    def state(self) -> ConsumerState:
        """What the consumer is doing."""
        ...

    def assignment(self) -> Collection[object]:
        """The partitions that it fetches from."""
        ...

    def poll(self, timeout: float | None = None, *, hold: bool = False) -> AnyRecords:
        """Wait for records."""
        ...

    def commit_sync(self) -> CommitResult:
        """Send the acknowledgements and wait."""
        ...


def is_passing(error: KafkaGroupsError, *, has_fetched: bool) -> bool:
    """Whether polling can go on after an error.

    Args:
        error: What a poll or a commit raised.
        has_fetched: Whether a broker has answered a fetch before. If none has, unreachable brokers are a mistake in the
            configuration rather than an outage.
    """
    if isinstance(error, BootstrapError):
        return has_fetched
    return isinstance(error, _PASSING) or is_retriable(error)


def is_answered(consumer: Polled) -> bool:
    """Whether an empty poll means that nothing was there.

    It does not before a broker has answered a fetch, without partitions, or during an outage.
    """
    is_reached = consumer.state is not ConsumerState.UNREACHABLE
    return is_reached and consumer.has_fetched and bool(consumer.assignment())


class Poller:
    """Polls a consumer and commits for it, across the errors that pass.

    Args:
        consumer: The consumer.
        notice: Called with each error after which polling continues.
    """

    def __init__(self, consumer: Polled, notice: Notice) -> None:
        self._consumer = consumer
        self._notice = notice
        self._ending: KafkaGroupsError | None = None

    def poll(self, timeout_ms: int, *, hold: bool = False) -> AnyRecords:
        """Wait for records; empty after an error that passes.

        Raises:
            KafkaGroupsError: The group cannot be read any more.
        """
        self._raise_ending()
        try:
            return self._consumer.poll(timeout_ms / 1000, hold=hold)
        except KafkaGroupsError as error:
            self.survive(error)
            return ShareRecords()

    def commit(self) -> CommitResult | None:
        """Send the acknowledgements, and wait until the brokers have confirmed or refused them.

        An error of the background comes before anything is sent, so the commit is tried again. If it is one that ends
        the work, the next poll raises it: the acknowledgements are of records that are done, and go first.

        Returns:
            An error or None for each partition; None if the answer is not known.
        """
        for _ in range(_COMMIT_TRIES):
            try:
                return self._consumer.commit_sync()
            except OperationTimeoutError as error:
                self._notice(error)
                return None
            except KafkaGroupsError as error:
                self._put_off(error)
        return None

    def survive(self, error: KafkaGroupsError) -> None:
        """Notice an error that passes.

        Raises:
            KafkaGroupsError: It does not pass.
        """
        if not is_passing(error, has_fetched=self._consumer.has_fetched):
            raise error
        self._notice(error)

    def _put_off(self, error: KafkaGroupsError) -> None:
        try:
            self.survive(error)
        except KafkaGroupsError as ending:
            self._ending = self._ending or ending

    def _raise_ending(self) -> None:
        if self._ending is not None:
            raise self._ending


def no_fetch_answered(config: ShareConsumerConfig, seconds: float, *, is_assigned: bool) -> OperationTimeoutError:
    """The error to raise when the brokers do not answer, so that nobody takes that for an empty topic.

    Args:
        config: Of the consumer.
        seconds: For how long it tried.
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
