"""A share group as a source of one query's run: Spark's calls on one side, the share consumer on the other."""

import logging
import random
from collections.abc import Mapping, Sequence

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.share.parts import Environment
from kafka_groups.spark.source.acquiring import Acquirer
from kafka_groups.spark.source.caution import Caution
from kafka_groups.spark.source.offsets import SourceOffset
from kafka_groups.spark.source.options import SourceOptions
from kafka_groups.spark.source.payload import payloads
from kafka_groups.spark.source.pieces import TablePiece
from kafka_groups.spark.source.progress import Counts
from kafka_groups.spark.source.sealing import BatchLimits, Sealing
from kafka_groups.types import member_id_of, random_uuid

__all__ = ["ShareSource"]

_LOG = logging.getLogger(__name__)

_CLOSE_TIMEOUT_S = 3.0
_JOIN_TIMEOUT_MS = 30_000
_LINGER_MS = 5
"""A batch is closed when no records came for this long: they come quickly or not before others are acknowledged."""


class ShareSource:
    """The source of one run; made and used in Spark's source runner, by one thread.

    Args:
        options: The query's options.
        columns: The columns that Spark wants.
        environment: Another network, clock or randomness, for tests.
    """

    def __init__(self, options: SourceOptions, columns: Sequence[str], environment: Environment | None = None) -> None:
        environment = environment or Environment()
        run = member_id_of(random_uuid(environment.rng or random.Random()))
        self.options = options
        self.counts = Counts()
        self._columns = tuple(columns)
        self._clock = environment.clock
        self._sealing: Sealing[TablePiece] = Sealing(run, Caution(backoff_ms=options.delivery_backoff_ms))
        self._acquirer = Acquirer(options, columns, self.counts, environment)
        self._available_now = False
        self._end = self._sealing.initial()

    # ----------------------------------------------------------------------------------- Spark's calls

    def initial_offset(self) -> dict[str, object]:
        """Where a query without a checkpoint starts."""
        return self._sealing.initial().to_json()

    def latest_offset(
        self, start: Mapping[str, object], rows: int | None, size_bytes: int | None, *, wants_all: bool
    ) -> dict[str, object]:
        """Acknowledge what Spark finished, and seal the next batch.

        Args:
            start: The end of the last batch that Spark finished.
            rows: The most records of the batch; None for no limit.
            size_bytes: The most bytes of the batch; None for that of the options.
            wants_all: Whether Spark wants all that is there in this one batch.

        Returns:
            The end of the next batch; the start when there is nothing to read.

        Raises:
            KafkaGroupsError: The group cannot be read.
        """
        begin = SourceOffset.from_json(start)
        finished = self._sealing.finished(begin)
        if finished is not None:
            self._acquirer.accept(finished.pieces)
        limits = BatchLimits(
            rows, min(size_bytes or self.options.max_bytes_per_batch, self.options.max_bytes_per_batch)
        )
        if self._sealing.sealed is None:
            self._fill(limits, patient=wants_all or self._available_now)
        batch = self._sealing.seal(begin, limits, self._clock.now_ms())
        if batch is None:
            return begin.to_json()
        self.counts.batches += batch.end != self._end
        self._end = batch.end
        return batch.end.to_json()

    def payloads(self, start: Mapping[str, object], end: Mapping[str, object]) -> list[bytes]:
        """The records between two offsets, as Arrow IPC streams."""
        planned = self._sealing.planned(SourceOffset.from_json(start), SourceOffset.from_json(end))
        return payloads(planned, self._columns, self.options.num_partitions)

    def prepare_available_now(self) -> None:
        """Read what is there now, and end."""
        self._available_now = True

    def report(self) -> dict[str, object]:
        """The progress of the run."""
        return {**self._end.to_json(), "share": {"accepted": self.counts.accepted}}

    def close(self) -> None:
        """Release what Spark did not finish, and leave the group; takes three seconds at most."""
        try:
            self._acquirer.close(_CLOSE_TIMEOUT_S)
        except KafkaGroupsError as error:
            _LOG.warning("the group was not left in order, the brokers find out by themselves: %s", error)

    # ------------------------------------------------------------------------------------------ filling

    def _fill(self, limits: BatchLimits, *, patient: bool) -> None:
        """Acquire until the limits are reached, nothing more comes, or the time is up."""
        now_ms = self._clock.now_ms()
        deadline_ms = now_ms + self.options.poll_timeout_ms
        join_deadline_ms = now_ms + (_JOIN_TIMEOUT_MS if patient else 0)
        while not self._is_full(limits):
            now_ms = self._clock.now_ms()
            is_ready = self._sealing.wait_ms(now_ms) == 0
            wait_ms = _LINGER_MS if is_ready else max(0, deadline_ms - now_ms)
            pieces = self._acquirer.acquire(wait_ms)
            self._sealing.hold(pieces, self._clock.now_ms())
            if not pieces and (is_ready or self._acquirer.has_fetched or now_ms >= join_deadline_ms):
                return

    def _is_full(self, limits: BatchLimits) -> bool:
        rows, size_bytes = self._sealing.held_rows, self._sealing.held_bytes
        return size_bytes >= limits.size_bytes or (limits.rows is not None and rows >= limits.rows)
