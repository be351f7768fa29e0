"""Write dead letters, retries and outputs for records in hand, and decide what follows.

A record in hand waits until all that is written for it is confirmed by the brokers; the table `CONSEQUENCES` says what
follows then. Until then it does not occupy a slot.
"""

import random
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Generic, TypeVar

from attrs import define, evolve, frozen

from kafka_groups.errors import is_retriable
from kafka_groups.errors.texts import named
from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.share.workers.rules.dead_letter_headers import CopiedRecords
from kafka_groups.share.workers.rules.failures.outages import Waits
from kafka_groups.share.workers.rules.failures.signals import OutputError
from kafka_groups.share.workers.rules.holdings import Holdings
from kafka_groups.share.workers.rules.limits import HandlingRules
from kafka_groups.share.workers.rules.outbox import EventKind, HandlingOutbox
from kafka_groups.share.workers.rules.retry_topics.delays import RetryTopic
from kafka_groups.share.workers.rules.steps import OpenRecord, WriteOutputs, WritePurpose, WriteRecords
from kafka_groups.types import AcknowledgeType, RecordId

__all__ = ["CONSEQUENCES", "MOST_OUTPUTS", "MOST_OUTPUT_BYTES", "Consequence", "RecordWrites"]

R = TypeVar("R")

MOST_OUTPUTS = 1_000
"""While so many outputs of a handler are not confirmed, no run starts."""
MOST_OUTPUT_BYTES = 64 * 1024 * 1024

# Records are written while their record in hand is locked, so another try costs no delivery, as with probes.
_WAITS = Waits.of_tries_in_hand(30_000)
_BEHIND_EARLIER_MS = 100
"""A dead letter waits for this long for one of an earlier delivery of its record, and looks again."""
_POSSIBLE_DUPLICATE = ("__retry.possible.duplicate", b"true")


@frozen
class Consequence:
    """The consequence of a write for the record in hand.

    Attributes:
        acknowledge: How the record in hand is acknowledged when they are confirmed; None: it may run.
        judges_refusals: Whether a refusal for good is a failure of the record in hand, which `errors` and `exhausted`
            of the handler judge. Otherwise the records are kept, and written again later.
        moves: Whether the record continues in a retry topic.
    """

    acknowledge: AcknowledgeType | None
    judges_refusals: bool = False
    moves: bool = False


CONSEQUENCES: Mapping[WritePurpose, Consequence] = MappingProxyType({
    WritePurpose.DEAD_LETTER: Consequence(AcknowledgeType.REJECT),
    WritePurpose.BEFORE_PROCESSING: Consequence(None),
    WritePurpose.RETRY: Consequence(AcknowledgeType.ACCEPT, moves=True),
    WritePurpose.FORWARD: Consequence(AcknowledgeType.ACCEPT, moves=True),
    WritePurpose.OUTPUT: Consequence(AcknowledgeType.ACCEPT, judges_refusals=True),
})  # fmt: skip


@define
class _Outputs:
    """The outputs of a handler that are not confirmed."""

    count: int = 0
    size_bytes: int = 0

    def add(self, records: Sequence[RecordToWrite], size_bytes: int) -> None:
        self.count += len(records)
        self.size_bytes += size_bytes

    def remove(self, records: Sequence[RecordToWrite], size_bytes: int) -> None:
        self.count -= len(records)
        self.size_bytes -= size_bytes


class RecordWrites(Generic[R]):
    """Writes records for records in hand, and decides what follows.

    Ask for it with `write` or `write_dead_letter`. The driver takes the steps from `next` through `RecordHandling`, and
    reports each result with `written`. It reports a topic that takes nothing for now with `held`. What it finds in
    `withdrawn` it need not write any more: see `withdrew`.

    Args:
        rules: The rules of the handler.
        holdings: The records that wait, also those for which a write is due.
        outbox: Gets the records that end.
        rng: For the jitter of waits.

    Attributes:
        refused: Called with a record in hand whose outputs are refused for good, the error, and the time.
        withdrawn: Writes whose results do not matter any more, because their records in hand are gone.
        opened: Writes of runs that the driver has, with the writes for single records that take their places: each has
            a result of its own from now on.
    """

    def __init__(
        self, rules: HandlingRules[R], holdings: Holdings[R], outbox: HandlingOutbox[R], rng: random.Random
    ) -> None:
        self._rules = rules
        self._holdings = holdings
        self._outbox = outbox
        self._rng = rng
        self.refused: Callable[[OpenRecord[R], Exception, int], None] = self._again
        self.withdrawn: deque[WriteRecords[R]] = deque()
        self.opened: deque[tuple[WriteOutputs[R], Sequence[WriteRecords[R]]]] = deque()
        # Dead letters are apart from the others: whether any is under way is asked at each step.
        self._dead_letters: dict[OpenRecord[R], WriteRecords[R]] = {}
        self._others: dict[OpenRecord[R], WriteRecords[R]] = {}
        self._of_runs: dict[WriteOutputs[R], None] = {}
        self._outputs_due: deque[WriteRecords[R] | WriteOutputs[R]] = deque()
        self._strays: dict[tuple[RecordId, bool], WriteRecords[R]] = {}
        self._copied = CopiedRecords()
        self._held: dict[str, Exception] = {}
        self._outputs = _Outputs()

    def __iter__(self) -> Iterator[OpenRecord[R]]:
        """Iterate over the records in hand for which a write of their own is due or under way, in no order."""
        yield from chain(self._holdings.copies, self._holdings.writes)
        yield from (write.opened for write in self._under_way)

    @property
    def _under_way(self) -> Iterator[WriteRecords[R]]:
        return chain(self._dead_letters.values(), self._others.values())

    @property
    def places(self) -> Iterable[RecordId]:
        """Places among which are the oldest of each partition for which a write is under way."""
        of_runs = (self._rules.record_id(write.in_hand[0]) for write in self._of_runs)
        return [*(write.opened.place for write in self._under_way), *of_runs]

    @property
    def of_runs(self) -> int:
        """The number of records in hand whose outputs are written together with others of their runs."""
        return sum(len(write.in_hand) for write in self._of_runs)

    @property
    def has_any_under_way(self) -> bool:
        """True if a write is under way."""
        return bool(self._dead_letters or self._others or self._of_runs)

    @property
    def unconfirmed_outputs(self) -> int:
        """The number of outputs that are not confirmed."""
        return self._outputs.count

    @property
    def unconfirmed(self) -> int:
        """The number of outputs that are not confirmed, and of other records that are being written."""
        others = (write for write in self._under_way if write.purpose is not WritePurpose.OUTPUT)
        return self._outputs.count + sum(len(write.records) for write in others)

    @property
    def has_room(self) -> bool:
        """False while too many outputs are not confirmed: no run starts, as its outputs would only add to them."""
        return self._outputs.count < MOST_OUTPUTS and self._outputs.size_bytes < MOST_OUTPUT_BYTES

    @property
    def is_quiet(self) -> bool:
        """True if no record waits for a confirmation after which it is accepted, unless its topic is held."""
        return not self._of_runs and all(map(self._is_held, self._others.values()))

    @property
    def has_records_at_risk(self) -> bool:
        """True while records on one of their last deliveries are being copied for the first time.

        A copy that has failed or is held up holds up nothing: the topic for dead letters may be unavailable for long.
        """
        if not self._dead_letters and not self._holdings.copies:
            return False
        writes = self._dead_letters.values()
        return any(map(_is_first_copy, self._holdings.copies)) or any(
            _is_first_copy(write.opened) and not self._is_held(write) for write in writes
        )

    @property
    def is_refused(self) -> bool:
        """True while outputs or retries cannot be written, so that a record that ran could not be accepted."""
        if any(opened.failed_writes for opened in self._holdings.writes):
            return True
        return bool(self._held) and any(map(self._is_held, self._others.values()))

    def _is_held(self, write: WriteRecords[R]) -> bool:
        return bool(self._held) and any(record.topic in self._held for record in write.records)

    # ---------------------------------------------------------------------------------------- asking

    def write(
        self, opened: OpenRecord[R], purpose: WritePurpose, records: Sequence[RecordToWrite], now_ms: int
    ) -> None:
        """Write records for a record in hand; `CONSEQUENCES` says what follows. For dead letters: `write_dead_letter`.

        The record must be in no other place: it neither runs nor waits. It keeps its key until it is acknowledged. If
        the write fails, the records are kept and written again.

        Args:
            opened: The record in hand.
            purpose: RETRY, FORWARD or OUTPUT.
            records: What to write, at least one record.
            now_ms: The time.
        """
        opened.purpose, opened.to_write, opened.due_ms, opened.failed_writes = purpose, records, now_ms, 0
        # A handler may have an output for each record. They wait for nothing but the driver.
        if purpose is WritePurpose.OUTPUT:
            self._outputs.add(records, _size_of(records))
            self._outputs_due.append(self._begun(self._others, opened, records))
        else:
            self._holdings.writes.add(opened)

    def may_write_together(self, outputs: Collection[Sequence[RecordToWrite]]) -> bool:
        """Return whether the outputs of several records can be one write: for one topic, while none is held."""
        # A topic that takes nothing must not delay records whose outputs are for others.
        return (
            len(outputs) > 1
            and not self._held
            and len({record.topic for records in outputs for record in records}) == 1
        )

    def write_together(self, in_hand: Sequence[R], outputs: Sequence[Sequence[RecordToWrite]]) -> None:
        """Write the outputs of a run whose records have succeeded. They are accepted together when all are confirmed.

        If something happens to one of them or to the topic, each goes on as if it had been written by itself.

        Args:
            in_hand: The records in hand: fresh ones of one delivery, in order.
            outputs: The outputs of each.
        """
        records = list(chain.from_iterable(outputs))
        write = WriteOutputs(in_hand, outputs, records, _size_of(records))
        self._outputs.add(records, write.size_bytes)
        self._of_runs[write] = None
        self._outputs_due.append(write)

    def _open(self, write: WriteOutputs[R]) -> None:
        """Continue with a write for each record of a run."""
        del self._of_runs[write]
        singles = [self._single(record, outputs) for record, outputs in zip(write.in_hand, write.outputs, strict=True)]
        if write in self._outputs_due:  # the driver does not have it yet
            at = self._outputs_due.index(write)
            self._outputs_due.remove(write)
            for single in reversed(singles):
                self._outputs_due.insert(at, single)
        else:
            self.opened.append((write, singles))

    def _single(self, record: R, outputs: Sequence[RecordToWrite]) -> WriteRecords[R]:
        opened = self._holdings.opened(record)
        opened.purpose, opened.to_write = WritePurpose.OUTPUT, outputs
        return self._begun(self._others, opened, outputs)

    def move(self, opened: OpenRecord[R], topic: RetryTopic, now_ms: int) -> None:
        """Move a record to a retry topic. Its `due_ms` is the time of its next attempt."""
        assert self._rules.retry is not None  # noqa: S101 - without them, no record moves
        opened.retry_ms = opened.due_ms
        self.write(opened, WritePurpose.RETRY, [self._rules.retry.moved(opened, topic, opened.retry_ms)], now_ms)

    def keep(self) -> bool:
        """Keep the records that were about to move, as those that wait for their retry. Returns whether there are any.

        Writes that are under way go on.
        """
        kept = self._holdings.writes.remove(lambda opened: opened.purpose is WritePurpose.RETRY)
        for opened in kept:
            opened.purpose, opened.to_write, opened.due_ms = None, (), opened.retry_ms
            self._holdings.waiting.add(opened)
        return bool(kept)

    def write_dead_letter(self, opened: OpenRecord[R], reason: str, now_ms: int) -> None:
        """Reject a record once its dead letter is confirmed."""
        # There are two cases without a copy. One was written before the record was processed. Or the worker has no
        # topic for copies: the brokers copy what is rejected if the group has a queue of its own.
        if opened.is_copied or self._rules.dead_letter is None:
            self._outbox.end(opened, AcknowledgeType.REJECT, now_ms)
            return
        # Otherwise the copy comes first and the rejection when it is confirmed: a record that is rejected before would
        # be lost if the write failed or the process ended.
        opened.reason, opened.purpose, opened.due_ms, opened.failed_writes = reason, WritePurpose.DEAD_LETTER, now_ms, 0
        self._holdings.copies.add(opened)

    # ---------------------------------------------------------------------------------------- writing

    def next(self, now_ms: int) -> WriteRecords[R] | WriteOutputs[R] | None:
        """Return the next records to write; None if none are due. Some in hand may end, as their copies exist."""
        # Most handlers write nothing, and each run comes by here.
        if self._outputs_due or self._holdings.copies or self._holdings.writes:
            return self._next(now_ms)
        return None

    def _next(self, now_ms: int) -> WriteRecords[R] | WriteOutputs[R] | None:
        if (write := self._next_dead_letter(now_ms)) is not None:
            return write
        return self._outputs_due.popleft() if self._outputs_due else self._next_other(now_ms)

    def _next_dead_letter(self, now_ms: int) -> WriteRecords[R] | None:
        while (due := self._holdings.copies.take_due(now_ms)) is not None:
            # A record whose lock was lost while its copy was written has come again. If both were written there would
            # be two, although the result of the first is known soon.
            if (earlier := self._strays.get((due.place, True))) is not None:
                due.due_ms = now_ms + _BEHIND_EARLIER_MS
                due.failed_writes += self._is_held(earlier)  # so that it holds up nothing
                self._holdings.copies.add(due)
            # A record that comes again after its copy was confirmed is not copied a second time by this process.
            elif due.place in self._copied:
                self._go_on(due, now_ms)
            else:
                return self._begun(self._dead_letters, due, [self._dead_letter_of(due)])
        return None

    def _dead_letter_of(self, opened: OpenRecord[R]) -> RecordToWrite:
        assert self._rules.dead_letter is not None  # noqa: S101 - without it, nothing is copied
        return self._rules.dead_letter(opened)

    def _next_other(self, now_ms: int) -> WriteRecords[R] | None:
        due = self._holdings.writes.take_due(now_ms)
        if due is None:
            return None
        records = due.to_write
        # The write before may have had no answer. Outputs are the user's, and get no headers of ours.
        if due.failed_writes and due.purpose is not WritePurpose.OUTPUT:
            records = list(map(_repeated, records))
        return self._begun(self._others, due, records)

    def _begun(
        self, under_way: dict[OpenRecord[R], WriteRecords[R]], opened: OpenRecord[R], records: Sequence[RecordToWrite]
    ) -> WriteRecords[R]:
        assert opened.purpose is not None  # noqa: S101 - a write is due for a purpose
        write = under_way[opened] = WriteRecords(opened, opened.purpose, records)
        return write

    def _forgotten(self, write: WriteRecords[R]) -> bool:
        """Remove a write from those under way. Returns False if it was removed before."""
        under_way = self._dead_letters if write.purpose.is_dead_letter else self._others
        if under_way.get(write.opened) is not write:
            return False
        del under_way[write.opened]
        return True

    # ---------------------------------------------------------------------------------------- results

    def written(self, write: WriteRecords[R] | WriteOutputs[R], error: Exception | None, now_ms: int) -> None:
        """Take the result of a write.

        Args:
            write: The step.
            error: None if all its records are confirmed.
            now_ms: The time.
        """
        if isinstance(write, WriteOutputs):
            self._together_written(write, error)
        elif not self._forgotten(write):
            self._stray_ended(write, now_ms, is_written=error is None)
        elif error is None:
            self._go_on(write.opened, now_ms)
        elif CONSEQUENCES[write.purpose].judges_refusals and not is_retriable(error):
            self.drop_outputs(write.opened)
            self.refused(write.opened, _refusal(write, error), now_ms)
        else:
            self._again(write.opened, error, now_ms)

    def _together_written(self, write: WriteOutputs[R], error: Exception | None) -> None:
        if write not in self._of_runs:
            return  # it was opened in the meantime, and its parts have results of their own
        # One of the outputs was refused, which says nothing about the others.
        if error is not None:
            self._open(write)
            return
        del self._of_runs[write]
        self._outputs.remove(write.records, write.size_bytes)
        self._outbox.settle(write.in_hand, AcknowledgeType.ACCEPT, is_run=True)

    def _go_on(self, opened: OpenRecord[R], now_ms: int) -> None:
        self.drop_outputs(opened)
        purpose, opened.purpose = opened.purpose, None
        assert purpose is not None  # noqa: S101 - a write was due for a purpose
        if purpose.is_dead_letter:
            opened.is_copied = True
            self._copied.add([opened.place])
        follows = CONSEQUENCES[purpose]
        # A record that waits for its key or its earlier handler keeps waiting, now with a copy.
        if opened.is_aside:
            opened.is_aside = False
        elif follows.acknowledge is None:
            self._holdings.admit([opened], now_ms)
        else:
            self._outbox.end(opened, follows.acknowledge, now_ms, has_moved=follows.moves)

    def _again(self, opened: OpenRecord[R], error: Exception, now_ms: int) -> None:
        # Until its records are written, the record in hand neither runs nor ends. It stays locked, and the handler is
        # not ready meanwhile.
        self._outbox.tell(EventKind.WRITE_FAILED, opened, error)
        opened.failed_writes += 1
        opened.due_ms = now_ms + _WAITS.after(opened.failed_writes, self._rng)
        is_dead_letter = opened.purpose is not None and opened.purpose.is_dead_letter
        (self._holdings.copies if is_dead_letter else self._holdings.writes).add(opened)

    def held(self, topic: str, error: Exception | None) -> None:
        """Note that a topic takes no records for now: it is missing or forbidden, or its brokers do not answer.

        Its records stay under way.

        Args:
            topic: The topic.
            error: Why; None when it takes records again.
        """
        if error is None:
            self._held.pop(topic, None)
            return
        self._held[topic] = error
        # What is confirmed of a run must not wait for the rest, which may take long now.
        for write in [write for write in self._of_runs if write.records[0].topic == topic]:
            self._open(write)

    # ---------------------------------------------------------------------------------------- forgetting

    def drop_outputs(self, opened: OpenRecord[R]) -> None:
        """Note that a record in hand is gone, so that its outputs are not written any more."""
        if opened.purpose is WritePurpose.OUTPUT:
            self._outputs.remove(opened.to_write, _size_of(opened.to_write))
            opened.to_write = ()

    def forget(self, opened: OpenRecord[R]) -> None:
        """Forget the copy of a record that has ended, if one is being written."""
        write = self._dead_letters.get(opened)
        if write is not None:
            self._leave_behind(write)

    def lose(self, matches: Callable[[R], bool], now_ms: int) -> list[RecordId]:
        """Forget the records that match and for which a write is under way. Returns their places."""
        for together in [each for each in self._of_runs if any(map(matches, each.in_hand))]:
            self._open(together)
        gone = [write for write in self._under_way if matches(write.opened.record)]
        for write in gone:
            self._leave_behind(write)
            self._holdings.leave(write.opened, now_ms)
        return [write.opened.place for write in gone]

    def lose_aside(self, matches: Callable[[R], bool]) -> None:
        """Forget the copies that are being written of records that match and wait for something else, too."""
        for write in [each for each in self._dead_letters.values() if each.opened.is_aside]:
            if matches(write.opened.record):
                self._leave_behind(write)

    def give_up(self, now_ms: int, *, only_held: bool) -> None:
        """Release the records in hand for which a write is under way, or only those whose topics are held."""
        if not only_held:
            for together in [*self._of_runs]:
                self._open(together)
        for write in [write for write in self._under_way if self._is_held(write) or not only_held]:
            self._leave_behind(write)
            self._outbox.end(write.opened, AcknowledgeType.RELEASE, now_ms)

    def _leave_behind(self, write: WriteRecords[R]) -> None:
        """Go on without a write. It may be under way, so its result still matters for a redelivery of its record."""
        self._forgotten(write)
        self.drop_outputs(write.opened)
        if write in self._outputs_due:  # the driver does not have it yet
            self._outputs_due.remove(write)
            return
        place, is_dead_letter = write.opened.place, write.purpose.is_dead_letter
        # The handler has done its work, so that a redelivery is accepted if the rest is confirmed now. It waits until
        # that is known, as it does for a handler that still runs.
        if not is_dead_letter:
            self._holdings.lost.lost_while_running(place)
        self._strays[place, is_dead_letter] = write
        self.withdrawn.append(write)

    def withdrew(self, write: WriteRecords[R], now_ms: int) -> None:
        """Note that nothing of a withdrawn write was sent, or will be. Otherwise its result comes by `written`."""
        self._stray_ended(write, now_ms, is_written=False)

    def _stray_ended(self, write: WriteRecords[R], now_ms: int, *, is_written: bool) -> None:
        place, is_dead_letter = write.opened.place, write.purpose.is_dead_letter
        if self._strays.get((place, is_dead_letter)) is not write:
            return  # the driver has reported twice
        del self._strays[place, is_dead_letter]
        if not is_dead_letter:
            self._holdings.admit(self._holdings.lost.ended(place, has_succeeded=is_written), now_ms)
        elif is_written:
            self._copied.add([place])


def _size_of(records: Iterable[RecordToWrite]) -> int:
    return sum(record.size_bytes for record in records)


def _is_first_copy(opened: OpenRecord[R]) -> bool:
    return opened.purpose is WritePurpose.BEFORE_PROCESSING and not opened.failed_writes


def _repeated(record: RecordToWrite) -> RecordToWrite:
    if _POSSIBLE_DUPLICATE in record.headers:
        return record
    return evolve(record, headers=(*record.headers, _POSSIBLE_DUPLICATE))


def _refusal(write: WriteRecords[R], error: Exception) -> OutputError:
    topics = ", ".join(dict.fromkeys(record.topic for record in write.records))
    refusal = OutputError(f"the brokers refuse an output for {topics}: {named(error)}")
    refusal.__cause__ = error
    return refusal
