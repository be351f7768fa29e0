"""Records that may not be redelivered: copied to the dead-letter topic when they are acquired, or logged."""

import logging
from collections.abc import Iterable

from attrs import define, field

from kafka_groups.config.clients.share import ShareConsumerConfig, share_consumer_keys
from kafka_groups.errors import DeliveryFailedError
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.spark.dead_letters import DeadLetters
from kafka_groups.spark.source.options import SourceOptions
from kafka_groups.spark.source.pieces import TablePiece
from kafka_groups.spark.source.progress import Counts
from kafka_groups.spark.source.rules.redelivery_limits import RedeliveryLimits

__all__ = ["LastDeliveries", "dead_letters_of", "keys_of"]

_LOG = logging.getLogger(__name__)


def dead_letters_of(options: SourceOptions) -> DeadLetters | None:
    """Return the dead-letter topic of the options, on the cluster of the source; None if there is none."""
    if options.dead_letter_topic is None:
        return None
    return DeadLetters(options.dead_letter_topic, options.consumer.group_id, keys_of(options.consumer))


def keys_of(config: ShareConsumerConfig) -> dict[str, object]:
    """Return the configuration of the source's consumer by attribute, for other clients of the same cluster."""
    return {attribute: getattr(config, attribute) for attribute in share_consumer_keys()}


@define(eq=False)
class LastDeliveries:
    """Passes records that can be redelivered, and records that were copied to the dead-letter topic.

    A record is copied on its last delivery but one: it can be lost then only if this process dies between acquiring
    and copying it twice in a row.

    Attributes:
        counts: The counters to update.
        letters: The dead-letter topic; None if there is none.
    """

    counts: Counts
    letters: DeadLetters | None
    _waiting: list[TablePiece] = field(factory=list)

    def passed(self, pieces: Iterable[TablePiece], redelivery: RedeliveryLimits) -> list[TablePiece]:
        """Those of these pieces, and of earlier ones that had to wait, that may go to Spark."""
        passed: list[TablePiece] = []
        waiting: list[TablePiece] = []
        for piece in [*self._waiting, *pieces]:
            # A record on one of its last deliveries must not reach Spark before its copy: a failure of the batch would
            # archive it. While its copy cannot be written it stays acquired, and others pass.
            waits = redelivery.is_copied(piece.delivery_count) and not self._is_safe(piece, redelivery.delivery_limit)
            (waiting if waits else passed).append(piece)
        self._waiting = waiting
        return passed

    def _is_safe(self, piece: TablePiece, limit: int) -> bool:
        # Nothing can be copied. The log names the records before they may be lost.
        if self.letters is None:
            self._name(piece, limit)
            return True
        try:
            copied = self.letters.copy(_records_of(piece), f"delivery {piece.delivery_count} of {limit}")
        except DeliveryFailedError as error:
            _LOG.error("records on one of their last deliveries cannot be copied, and wait: %s", error)
            return False
        self.counts.dead_letters += copied
        return True

    def _name(self, piece: TablePiece, limit: int) -> None:
        if piece.delivery_count >= limit:
            self.counts.last_deliveries += piece.rows
            _LOG.error(
                "records %d to %d of %s are delivered for the last time (%d of %d): if this batch fails, the broker"
                " archives them; set the option deadLetterTopic, or the group's own dead-letter topic",
                piece.first_offset,
                piece.last_offset,
                piece.partition,
                piece.delivery_count,
                limit,
            )


def _records_of(piece: TablePiece) -> list[AnyRecord]:
    first, last = piece.first_offset, piece.last_offset
    return [record for record in piece.delivery if first <= record.offset <= last]
