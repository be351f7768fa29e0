"""The source of one run of a query: it connects Spark's calls to the share consumer."""

import logging
import random
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import asdict

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.errors.texts import counted
from kafka_groups.share.parts import Environment
from kafka_groups.share.workers.group_queries import TIMEOUT_MS
from kafka_groups.share.workers.group_settings import DEFAULT_DELIVERY_LIMIT
from kafka_groups.share.workers.polling import no_fetch_answered
from kafka_groups.spark.failures.go_on import GoOn
from kafka_groups.spark.groups.preflight import preflight
from kafka_groups.spark.source.acquirer import Acquirer
from kafka_groups.spark.source.last_deliveries import LastDeliveries, dead_letters_of, keys_of
from kafka_groups.spark.source.options import SourceOptions
from kafka_groups.spark.source.payload import payloads
from kafka_groups.spark.source.peek import PeekedPiece, peek
from kafka_groups.spark.source.pieces import TablePiece
from kafka_groups.spark.source.progress import Counts
from kafka_groups.spark.source.questions import GroupQuestions
from kafka_groups.spark.source.rules.filling import JOIN_TIMEOUT_MS, Filling, Saturation
from kafka_groups.spark.source.rules.micro_batches import BatchLimits, MicroBatches
from kafka_groups.spark.source.rules.offsets import SourceOffset
from kafka_groups.spark.source.rules.redelivery_limits import RedeliveryLimits
from kafka_groups.spark.source.shared_reading import SharedReading
from kafka_groups.types import TopicPartition, member_id_of, random_uuid

__all__ = ["ShareSource"]

_LOG = logging.getLogger(__name__)

_CLOSE_TIMEOUT_S = 3.0
_LEAST_QUESTION_MS = 1_000
_PEEK_TIMEOUT_S = 10.0
_LOOK_MS = 100
"""The interval at which a waiting source checks whether an operator has reported the sink as fixed."""
_BATCHES_IN_HAND = 2
"""The source acquires nothing more while it holds this many full batches."""


class ShareSource:
    """The source of one run, used by one thread in Spark's source runner. Joins the group when it is first read.

    Args:
        options: The query's options.
        columns: The columns that Spark wants.
        environment: Another network, clock or randomness, for tests.
        shared: Notices another query with the same options.

    Attributes:
        options: The query's options.
        counts: The counters of the run.
    """

    def __init__(
        self,
        options: SourceOptions,
        columns: Sequence[str],
        environment: Environment | None = None,
        *,
        shared: SharedReading | None = None,
    ) -> None:
        environment = environment or Environment()
        run = member_id_of(random_uuid(environment.rng or random.Random()))
        self.options = options
        self.counts = Counts()
        self._columns = tuple(columns)
        self._clock = environment.clock
        self._micro_batches: MicroBatches[TablePiece] = MicroBatches(
            run, RedeliveryLimits(DEFAULT_DELIVERY_LIMIT, options.backoff_ms)
        )
        self._acquirer = Acquirer(options, columns, self.counts, environment)
        self._questions = GroupQuestions(options.consumer, options.subscribe, environment)
        self._last_deliveries = LastDeliveries(self.counts, dead_letters_of(options))
        self._shared = shared
        self._is_split = False
        self._notes: Sequence[str] | None = None
        self._ends: Mapping[TopicPartition, int] | None = None
        self._unread: Mapping[TopicPartition, int] = {}
        self._beyond: list[TablePiece] = []
        self._is_drain = False
        self._came_ms = self._clock.now_ms()
        self._saturation = Saturation()
        self._last_count = 0
        self._resume_ms: int | None = None
        self._go_on = GoOn(options.go_on_file)
        self._asked = 0
        self._end = self._micro_batches.initial()

    # ----------------------------------------------------------------------------------- Spark's calls

    def initial_offset(self) -> dict[str, object]:
        """Return where a query without a checkpoint starts."""
        return self._micro_batches.initial().to_json()

    def latest_offset(
        self, start: Mapping[str, object], limits: BatchLimits, *, wants_all: bool = False
    ) -> dict[str, object]:
        """Acknowledge the batch that Spark has finished, and seal the next one.

        Args:
            start: The end of the last batch that Spark finished.
            limits: The largest size of the batch.
            wants_all: Whether the run has no other batch, so that it waits for records.

        Returns:
            The end of the next batch; the start if there is nothing to read.

        Raises:
            KafkaGroupsError: The group cannot be read.
        """
        begin = SourceOffset.from_json(start)
        fetches = self._acquirer.fetches  # acknowledgements ride on a fetch, whose answer is the first after them
        # Everything up to `start` is in the checkpoint's commit log, so it is accepted here. Spark calls `commit` too
        # late, or never.
        finished = self._micro_batches.finished(begin)
        if finished is not None:
            self._came_ms = self._clock.now_ms()  # Spark's work on the batch does not count as idle time
            self._acquirer.accept(piece for piece in finished.pieces if not isinstance(piece, PeekedPiece))
        self._questions.ask_lag(is_changed=finished is not None)
        # The count of failed runs goes into the checkpoint before anything is acquired. A run with a single batch has
        # no batch to spend on that.
        if not wants_all and (mark := self._micro_batches.mark(begin)) is not None:
            return self._told(mark.end)
        # Spark gets its start offset back, which means that there is nothing new, and asks again at the next trigger.
        if self._micro_batches.sealed is None and not self._fill_or_peek(begin, limits, fetches, wants_all=wants_all):
            return begin.to_json()
        batch = self._micro_batches.seal(begin, limits, self._clock.now_ms())
        if batch is None:
            return begin.to_json()
        return self._told(batch.end)

    def _told(self, end: SourceOffset) -> dict[str, object]:
        self.counts.batches += end != self._end
        self._end = end
        return end.to_json()

    def payloads(self, start: Mapping[str, object], end: Mapping[str, object]) -> list[bytes]:
        """Return the records between two offsets as Arrow IPC streams."""
        planned = self._micro_batches.planned(
            SourceOffset.from_json(start), SourceOffset.from_json(end), self._clock.wall_ms()
        )
        return payloads(planned, self._columns, self.options.num_partitions)

    def prepare_available_now(self) -> None:
        """Read the records up to the current end offsets, or until no more arrive, and end."""
        self._is_drain = True
        self._came_ms = self._clock.now_ms()
        try:
            ends = self._questions.end_offsets(self._question_ms(self._came_ms))
            # Before the run has a member: from then on only the leaders know where the group begins.
            self._unread = self._questions.unread(self._question_ms(self._clock.now_ms()))
            self._ends = ends
        except KafkaGroupsError as error:
            _LOG.warning(
                "The ends of the topics are unknown, so records that arrive in the meantime are read too: %s", error
            )

    def report(self) -> dict[str, Any]:
        """Return the progress of the run: counts, and the lag at the moment.

        Spark asks when it knows the next batch, and the last answer stays in the progress of a run that has ended. So
        the lag leaves out the records in hand: a lag of 0 means that nothing is left when Spark has finished them.
        """
        in_flight, lag = self._micro_batches.in_flight_rows, self._lag()
        share: dict[str, object] = {
            **asdict(self.counts),
            "in_flight": in_flight,
            "held_back": self._micro_batches.held_back_rows(self._clock.now_ms()),
            "resumes_in_ms": self._resumes_in_ms,
            "failed_runs": self._micro_batches.failures,
            "failing_since_ms": self._micro_batches.failing_since_ms or None,
            "renewals": self._acquirer.renewals,
            "lag": None if lag is None else max(0, lag - in_flight),
            "notes": list(self._notes or ()),
        }
        return {**self._end.to_json(), "share": share}

    def _lag(self) -> int | None:
        lag = self._questions.lag()
        if lag is None and self._micro_batches.sealed is not None:  # asked before the group had partitions
            self._questions.ask_lag(is_changed=True)
            lag = self._questions.lag()
        return lag

    def close(self) -> None:
        """Release the records that Spark did not finish, and leave the group; takes about three seconds at most."""
        if archived := self._micro_batches.rows_at_limit():
            _LOG.error(
                "The source is closed while it holds %s on the last delivery, which the brokers archive.%s",
                counted(archived, "record"),
                " The dead-letter topic has copies." if self.options.dead_letter_topic else "",
            )
        try:
            self._acquirer.close(_CLOSE_TIMEOUT_S)
        except KafkaGroupsError as error:
            # The process ends anyway, and Spark must not take that for an error of the query.
            _LOG.warning("could not leave the group cleanly; the brokers will notice by themselves: %s", error)
        if self._shared is not None:
            self._shared.close()
        self._questions.close()

    # ------------------------------------------------------------------------------------------ filling

    def _fill_or_peek(self, start: SourceOffset, limits: BatchLimits, fetches: int, *, wants_all: bool) -> bool:
        """Acquire records, or read one without acquiring it; False if the run waits."""
        patient = wants_all or self._is_drain
        self._look_at_group()
        self._look_for_others()
        self._micro_batches.resume(start)
        if not self._has_waited(patient=patient):
            return False
        if self._is_to_peek:
            return self._peek(start, patient=patient)
        self._fill(limits, fetches, patient=patient)
        return True

    @property
    def _is_to_peek(self) -> bool:
        """True if the next records would come on their last delivery, and nothing shows that the sink works."""
        micro_batches = self._micro_batches
        return not micro_batches.redelivery.may_acquire(micro_batches.deliveries, micro_batches.failures)

    def _peek(self, start: SourceOffset, *, patient: bool) -> bool:
        """Seal a record that is read without the group; False if there is none.

        Raises:
            KafkaGroupsError: It cannot be read, and the run would end as if it had read everything.
        """
        try:
            places = self._questions.places()
            if not places:
                return False
            # Each failed run tries another partition, and then another record in each. The record that was tried may be
            # what makes the sink fail.
            round_, number = divmod(self._micro_batches.failures, len(places))
            place, offset = places[number]
            piece = peek(keys_of(self.options.consumer), place, offset, _PEEK_TIMEOUT_S, skipped=round_)
        except KafkaGroupsError as error:
            if patient:
                raise
            _LOG.warning("The source cannot see whether the sink works, and waits: %s", error)
            return False
        self._micro_batches.probe(start, piece)
        _LOG.warning(
            "The source gives Spark one record without acquiring it (%s, from offset %d on), as others were delivered"
            " %d times of %d. If it is stored, the source acquires records again.",
            place,
            offset,
            self._micro_batches.deliveries,
            self._micro_batches.redelivery.delivery_limit,
        )
        return True

    def _fill(self, limits: BatchLimits, fetches: int, *, patient: bool) -> None:
        """Acquire records until the limits are reached, no more arrive, or the time is up."""
        now_ms = self._clock.now_ms()
        # Records whose locks have expired meanwhile are delivered again. In a batch, they would be in the sink twice
        # for certain.
        self._acquirer.give_up(self._micro_batches.discard(lambda piece: piece.is_lost(now_ms)))
        join_ms = self._join_timeout_ms(now_ms) if patient else 0
        filling = Filling.begin(self.options.poll_timeout_ms, fetches, join_ms, now_ms)
        while not (self._micro_batches.is_enough(limits, now_ms) or self._is_careful_batch(now_ms)):
            came = self._hold(self._acquire(filling.wait_ms(self._micro_batches.wait_ms(now_ms), now_ms)))
            now_ms, fetches = self._clock.now_ms(), self._acquirer.fetches
            filling.polled(fetches, now_ms, came=came)
            if came:
                self._came_ms = now_ms
                # With a backlog, a batch of this size is all that the locks allow. Waiting for another answer would
                # only cost time.
                if self._saturation.is_reached(self._micro_batches.ready_rows(now_ms)):
                    return
            elif filling.is_over(self._micro_batches.wait_ms(now_ms), fetches, now_ms):
                self._saturation.closed(self._micro_batches.ready_rows(now_ms))
                if not (patient and self._is_to_wait(now_ms, is_answered=fetches > filling.fetches)):
                    return
                filling.go_on(now_ms)

    def _join_timeout_ms(self, now_ms: int) -> int:
        return min(JOIN_TIMEOUT_MS, self._left_ms(now_ms)) if self._is_drain else JOIN_TIMEOUT_MS

    def _left_ms(self, now_ms: int) -> int:
        """Return how long a run that reads only available records still waits for one."""
        return max(0, self._came_ms + self.options.available_now_timeout_ms - now_ms)

    def _question_ms(self, now_ms: int) -> int:
        """Return how long the brokers may take to answer a question of such a run."""
        return max(_LEAST_QUESTION_MS, min(TIMEOUT_MS, self._left_ms(now_ms)))

    def _acquire(self, timeout_ms: int) -> list[TablePiece]:
        """Wait for records; only wait if too many held-back records are in hand."""
        # Records that wait for their time must not fill the memory of this process, nor use up the locks of the group.
        if self._micro_batches.held_bytes < _BATCHES_IN_HAND * self.options.max_bytes_per_batch:
            most_rows = self._most_rows
            if most_rows is None or self._micro_batches.held_rows < most_rows:
                pieces = self._acquirer.acquire(timeout_ms, most_rows)
                self._last_count = max((piece.delivery_count for piece in pieces), default=self._last_count)
                return pieces
        threading.Event().wait(timeout_ms / 1000)
        return []

    @property
    def _most_rows(self) -> int | None:
        """The most records that may be in hand; None for no limit."""
        return self._micro_batches.redelivery.rows_acquired(self._last_count, self._micro_batches.failures)

    def _is_careful_batch(self, now_ms: int) -> bool:
        """Return whether as many records are ready as may be in hand if they were delivered often."""
        most_rows = self._most_rows
        return most_rows is not None and self._micro_batches.ready_rows(now_ms) >= most_rows

    def _has_waited(self, *, patient: bool) -> bool:
        """Return whether the wait after failed runs is over; may block. No records are held yet, so a stop is cheap."""
        if self._resume_ms is None:
            self._resume_ms = self._clock.now_ms() + self._micro_batches.redelivery.wait_before_ms(
                self._micro_batches.failures
            )
            self._say_wait()
        waited_ms = 0
        while self._is_waiting() and (patient or waited_ms < self.options.poll_timeout_ms):
            threading.Event().wait(min(_LOOK_MS, self._resumes_in_ms) / 1000)
            waited_ms += _LOOK_MS
            self._came_ms = self._clock.now_ms()
        return not self._is_waiting()

    def _is_waiting(self) -> bool:
        if self._go_on.asked > self._asked:
            self._asked = self._go_on.asked
            self._resume_ms = self._clock.now_ms()
        return self._resumes_in_ms > 0

    def _say_wait(self) -> None:
        if not self._is_waiting():
            return
        micro_batches = self._micro_batches
        _LOG.warning(
            "This query has ended without finishing a batch %s in a row. It waits %.1f s before it acquires records,"
            " so that failing runs do not use up their deliveries.",
            counted(micro_batches.failures, "time"),
            self._resumes_in_ms / 1000,
        )

    @property
    def _resumes_in_ms(self) -> int:
        return 0 if self._resume_ms is None else max(0, self._resume_ms - self._clock.now_ms())

    def _is_to_wait(self, now_ms: int, *, is_answered: bool) -> bool:
        """Return whether a run that reads only available records has to wait, because finding none would end it.

        Args:
            now_ms: Now.
            is_answered: Whether a fetch was answered since the last records came.

        Raises:
            OperationTimeoutError: The time is up and the brokers do not answer.
        """
        # There are several cases. Records are ready, so the run goes on with them.
        if self._micro_batches.wait_ms(now_ms) == 0:
            return False
        # Records are in hand, but wait for their time. A run that reads what is available has to give them to Spark,
        # too.
        if self._micro_batches.held_rows:
            return self._is_drain
        # Nothing is in hand. The run may end once the group is through with what was there at its beginning. If brokers
        # cannot tell that, an answered fetch without records has to do.
        is_known = is_answered and not self._acquirer.is_unreachable
        is_through = self._is_through()
        if is_through or (is_through is None and is_known):
            return False
        waited_ms = now_ms - self._came_ms
        if waited_ms >= self.options.available_now_timeout_ms and not is_known:
            # The run must not end as if it had read everything.
            is_assigned = self._acquirer.is_assigned
            raise no_fetch_answered(self.options.consumer, waited_ms / 1000, is_assigned=is_assigned)
        # The brokers answer, but other members hold records, perhaps ones that were killed. The run does not wait for
        # ever.
        if waited_ms >= self.options.available_now_timeout_ms:
            self._say_unfinished(waited_ms)
            return False
        return True

    def _say_unfinished(self, waited_ms: int) -> None:
        _LOG.warning(
            "No record has arrived for %.0f s (the option availableNowTimeoutMs), so this run ends. The share group %s"
            " may not have finished all records that it began with: other members may hold some. The next run reads"
            " those that are not accepted by then.",
            waited_ms / 1000,
            self.options.consumer.group_id,
        )

    def _is_through(self) -> bool | None:
        """Return whether the group has processed everything that the run must read; None if that cannot be known."""
        if self._ends is None:
            return None
        timeout_ms = self._question_ms(self._clock.now_ms())
        return self._questions.is_through(self._ends, self._unread, timeout_ms=timeout_ms)

    def _hold(self, pieces: Iterable[TablePiece]) -> bool:
        """Hold the records that may go to Spark; True if there are any."""
        passed = self._last_deliveries.passed(self._before_ends(pieces), self._micro_batches.redelivery)
        self._micro_batches.hold(passed, self._clock.now_ms())
        return bool(passed)

    def _before_ends(self, pieces: Iterable[TablePiece]) -> list[TablePiece]:
        """Return the records before the end offsets of the run; the others stay acquired until its end."""
        if self._ends is None:
            return list(pieces)
        within: list[TablePiece] = []
        for piece in pieces:
            # A partition without an entry was empty, or did not exist, when the run began: all of its records came
            # later.
            end = self._ends.get(TopicPartition(piece.delivery.topic, piece.delivery.partition), 0)
            before, beyond = piece.before(end)
            within += [before] if before is not None else []
            self._beyond += [beyond] if beyond is not None else []
        return within

    def _look_for_others(self) -> None:
        if self._shared is not None and self._shared.is_shared(self._clock.now_ms()) and not self._is_split:
            self._is_split = True
            note = (
                "Two queries of this application read the share group"
                f" {self.options.consumer.group_id} with the same options, so each of them gets a part of the records."
                " Use foreachBatch with two sinks in one query, or a group of its own for each query."
            )
            self._notes = [*(self._notes or ()), note]
            _LOG.error(note)

    def _look_at_group(self) -> None:
        """Check the topics and the group once, before the first record."""
        if self._notes is None:
            options = self.options
            found = preflight(
                options.consumer, options.subscribe, options.dead_letter_topic, key="the option deadLetterTopic"
            )
            self._notes, settings = found.notes, found.settings
            self._questions.begins_at_start = settings.auto_offset_reset == "earliest"
            self._micro_batches.redelivery = RedeliveryLimits(
                settings.delivery_limit or DEFAULT_DELIVERY_LIMIT, self.options.backoff_ms
            )
