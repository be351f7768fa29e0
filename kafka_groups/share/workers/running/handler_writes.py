"""The writes of one handler between its rules and what writes for it."""

from collections import deque
from collections.abc import Callable, Sequence

from kafka_groups.records.confirmed.writes import WriteOutcome
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.rules.record_writes import RecordWrites
from kafka_groups.share.workers.rules.steps import WriteOutputs, WriteRecords
from kafka_groups.share.workers.running.handler_report import HandlerReport
from kafka_groups.share.workers.running.operations import OperationTimes
from kafka_groups.share.workers.running.record_writing import ProcessWriter

__all__ = ["HandlerWrites"]


class HandlerWrites:
    """Hands the rules' writes on, and their results back.

    Args:
        name: The name of the handler.
        rules: The rules.
        writer: Writes records; None if the handler has nothing to write.
        report: Hears of results.
        times: Takes durations.

    Attributes:
        wake: Called when there is a result.
    """

    def __init__(
        self,
        name: str,
        rules: RecordWrites[AnyRecord],
        writer: ProcessWriter | None,
        report: HandlerReport,
        times: OperationTimes,
    ) -> None:
        self._rules = rules
        self._report = report
        self._times = times
        self.wake: Callable[[], None] = _nobody
        self._outcomes: deque[WriteOutcome] = deque()
        self._begun_s: dict[object, float] = {}
        self._opened: dict[WriteOutputs[AnyRecord], Sequence[WriteRecords[AnyRecord]]] = {}
        self._writer = writer
        self._room = None if writer is None else writer.room(name, self._took, self._held)

    def write(self, write: WriteRecords[AnyRecord] | WriteOutputs[AnyRecord]) -> None:
        """Write records."""
        assert self._room is not None  # noqa: S101 - the rules write only what the handler has topics for
        if self._times.meters:
            self._begun_s[write] = self._times.timer()
        if isinstance(write, WriteOutputs):
            self._room.write_each(write.records, write)
        else:
            self._room.write(write.records, write)

    def withdraw(self, now_ms: int) -> None:
        """Divide what the rules want to have divided, and withdraw what they do not need any more."""
        self._divide_opened()
        while self._rules.withdrawn:
            write = self._rules.withdrawn.popleft()
            if self._room is not None and self._room.withdraw(write):
                self._begun_s.pop(write, None)
                self._rules.withdrew(write, now_ms)

    def _divide_opened(self) -> None:
        while self._rules.opened:
            self._divide(*self._rules.opened.popleft())

    def _divide(self, write: WriteOutputs[AnyRecord], singles: Sequence[WriteRecords[AnyRecord]]) -> None:
        assert self._room is not None  # noqa: S101 - it has the write
        if self._times.meters:
            begun_s = self._begun_s.get(write, self._times.timer())
            self._begun_s.update(dict.fromkeys(singles, begun_s))
        # Otherwise the outcome of all is on its way, and is one for each of them.
        if self._room.divide(write, [(single, single.records) for single in singles]):
            self._begun_s.pop(write, None)
        else:
            self._opened[write] = singles

    def take_outcomes(self, now_ms: int) -> bool:
        """Give the rules the results that have come. Returns False if there are none.

        Raises:
            KafkaGroupsError: Nothing can be written any more.
        """
        # Locks may have been lost since the last turn: what was one write then has several results.
        self._divide_opened()
        has_some = bool(self._outcomes)
        # Each write has this error as its outcome now. It says nothing about the records.
        if has_some and self._writer is not None and self._writer.fatal is not None:
            raise self._writer.fatal
        while self._outcomes:
            outcome = self._outcomes.popleft()
            for write in outcome.tokens:
                assert isinstance(write, WriteRecords | WriteOutputs)  # noqa: S101 - as `write` has given it
                if isinstance(write, WriteOutputs) and write in self._opened:
                    for single in self._opened.pop(write):
                        self._ended(single, outcome.error, now_ms)
                else:
                    self._ended(write, outcome.error, now_ms)
        return has_some

    def _ended(
        self, write: WriteRecords[AnyRecord] | WriteOutputs[AnyRecord], error: Exception | None, now_ms: int
    ) -> None:
        self._rules.written(write, error, now_ms)
        # It is divided now, and its parts tell which of them the error is about.
        if isinstance(write, WriteOutputs) and error is not None:
            return
        if self._times.meters:
            self._times.sent(self._begun_s.pop(write), write.records[0].topic, len(write.records), error)
        self._report.written(write, error)

    def _took(self, outcomes: Sequence[WriteOutcome]) -> None:
        self._outcomes.extend(outcomes)
        self.wake()

    def _held(self, topic: str, error: Exception | None) -> None:
        self._rules.held(topic, error)
        self._report.held(topic, error)
        self.wake()


def _nobody() -> None:
    """Do nothing: the caller of `turn` looks at results by itself."""
