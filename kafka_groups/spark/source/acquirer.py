"""The share consumer of a source: acquires records as pieces, and acknowledges them."""

import logging
from collections.abc import Iterable, Sequence

from kafka_groups.errors import CorruptRecordError, KafkaGroupsError, RenewalUnsupportedError
from kafka_groups.errors.texts import counted
from kafka_groups.share import KafkaShareConsumer
from kafka_groups.share.delivery.commits import CommitResult
from kafka_groups.share.parts import Environment
from kafka_groups.share.workers.polling import Poller
from kafka_groups.spark.source.options import SourceOptions
from kafka_groups.spark.source.pieces import TablePiece, pieces_of
from kafka_groups.spark.source.progress import Counts
from kafka_groups.types import AcknowledgeType, ConsumerState

__all__ = ["Acquirer"]

_LOG = logging.getLogger(__name__)


class Acquirer:
    """Acquires and acknowledges records for one run; joins the group on the first call.

    Args:
        options: The query's options.
        columns: The columns that Spark wants.
        counts: The counters to update.
        environment: Another network or clock, for tests.
    """

    def __init__(
        self,
        options: SourceOptions,
        columns: Sequence[str],
        counts: Counts,
        environment: Environment | None = None,
    ) -> None:
        self._options = options
        self._columns = tuple(columns)
        self._counts = counts
        self._environment = environment or Environment()
        self._consumer: KafkaShareConsumer | None = None
        self._poller: Poller | None = None
        self._warned: set[str] = set()

    @property
    def fetches(self) -> int:
        """The number of answered fetches."""
        return 0 if self._consumer is None else self._consumer.counts().fetches

    @property
    def is_unreachable(self) -> bool:
        """True if no broker answers at the moment."""
        return self._consumer is not None and self._consumer.state is ConsumerState.UNREACHABLE

    @property
    def is_assigned(self) -> bool:
        """True if the group assigned partitions to this run."""
        return self._consumer is not None and bool(self._consumer.assignment())

    @property
    def renewals(self) -> int:
        """The number of lock renewals that were sent."""
        return 0 if self._consumer is None else self._consumer.counts().renewed

    def acquire(self, timeout_ms: int, most_rows: int | None = None) -> list[TablePiece]:
        """Wait for records; records from earlier calls stay acquired.

        Args:
            timeout_ms: Longest wait.
            most_rows: The most records to acquire; None for the configured limit.

        Raises:
            KafkaGroupsError: The group cannot be read: no broker answers from the start, or one refuses.
        """
        poller, consumer = self._joined()
        consumer.fetch_limit = most_rows
        records = poller.poll(timeout_ms, hold=True)
        pieces = list(pieces_of(records, self._columns, renewed=self._options.consumer.auto_renew))
        for piece in pieces:
            self._counts.acquired += piece.rows
            self._counts.max_delivery_count = max(self._counts.max_delivery_count, piece.delivery_count)
        return pieces

    def accept(self, pieces: Iterable[TablePiece]) -> None:
        """Accept records, and wait for the results.

        Records whose acknowledgement the brokers refuse or do not answer are counted; they are redelivered.

        Raises:
            KafkaGroupsError: The group can no longer be used.
        """
        pieces = tuple(pieces)
        if not pieces:
            return
        for piece in pieces:
            piece.acknowledge(AcknowledgeType.ACCEPT)
        # The call waits for the brokers: what is counted as accepted in the progress of the query is accepted.
        results = self._joined()[0].commit()
        for piece in pieces:
            self._count_fate(piece, results)

    def give_up(self, pieces: Iterable[TablePiece]) -> None:
        """Drop records whose locks have expired; does not wait."""
        for piece in pieces:
            # The consumer stops renewing what is released. The broker refuses the release itself, as the lock is gone.
            piece.acknowledge(AcknowledgeType.RELEASE)
            self._counts.expired += piece.rows

    def close(self, timeout_s: float) -> None:
        """Release unacknowledged records, and leave the group; blocks no longer than the timeout."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close(timeout_s)

    # ------------------------------------------------------------------------------------------ parts

    def _joined(self) -> tuple[Poller, KafkaShareConsumer]:
        if self._consumer is None or self._poller is None:
            self._consumer = KafkaShareConsumer(self._options.consumer, environment=self._environment)
            self._consumer.subscribe(self._options.subscribe)
            self._poller = Poller(self._consumer, self._notice)
        return self._poller, self._consumer

    def _count_fate(self, piece: TablePiece, results: CommitResult | None) -> None:
        error = None if results is None else results.get(piece.partition)
        # No answer counts like a refusal. The brokers may have accepted the records, or will deliver them again.
        if results is not None and error is None:
            self._counts.accepted += piece.rows
            return
        self._counts.lock_lost += piece.rows
        _LOG.warning(
            "Spark has processed %s of %s from offset %d on, but the source could not acknowledge them. Kafka delivers"
            " them again: %s",
            counted(piece.rows, "record"),
            piece.partition,
            piece.first_offset,
            error or "no answer",
        )

    def _notice(self, error: KafkaGroupsError) -> None:
        """Log an error after which the source continues."""
        if isinstance(error, CorruptRecordError):
            self._counts.corrupt_batches += 1
            _LOG.error("The source cannot read a batch of the log, and rejected it: %s", error)
        elif isinstance(error, RenewalUnsupportedError):
            self._warn_once(f"{error} A micro-batch that takes longer than the lock is redelivered.")
        else:
            _LOG.warning("The query continues after an error: %s", error)

    def _warn_once(self, message: str) -> None:
        if message not in self._warned:
            self._warned.add(message)
            _LOG.warning(message)
