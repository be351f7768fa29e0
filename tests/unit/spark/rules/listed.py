"""Sub-batches of numbered records, without a consumer, and a driver that plays answers to the rules' steps."""

from collections.abc import Callable, Iterable, Sequence
from typing import Self

from attrs import define, field

from kafka_groups.spark.rules.sub_batch import (
    AcknowledgeSubBatch,
    AwaitConfirmation,
    RunOutcome,
    RunSubBatch,
    SubBatchesDone,
    SubBatchStep,
    WaitBetweenTries,
    WriteSubBatchDeadLetters,
)
from kafka_groups.spark.rules.sub_batch_handling import SubBatchHandling
from kafka_groups.types import AcknowledgeType

__all__ = ["ListedPoll", "ListedSubBatch", "Played", "play"]


@define(eq=False)
class ListedPoll:
    """Records of a poll: number → delivery count, and what was decided about each."""

    counts: dict[int, int]
    deadline_ms: int | None = None
    decided: dict[int, AcknowledgeType] = field(factory=dict)
    is_over: bool = False

    @property
    def whole(self) -> "ListedSubBatch":
        """All records of the poll."""
        return ListedSubBatch(self, list(self.counts))


@define(eq=False)
class ListedSubBatch:
    """A `SubBatch`."""

    poll: ListedPoll
    numbers: list[int]

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def max_delivery_count(self) -> int:
        """The highest delivery count."""
        return max(self.counts_by_row(), default=0)

    @property
    def fixed_deadline_ms(self) -> int | None:
        """The deadline of the poll."""
        return self.poll.deadline_ms

    def counts_by_row(self) -> Sequence[int]:
        """The delivery counts."""
        return [self.poll.counts[number] for number in self.numbers]

    def rejected_rows(self) -> Sequence[int]:
        """The rows that were rejected."""
        decided = self.poll.decided
        return [row for row, number in enumerate(self.numbers) if decided.get(number) is AcknowledgeType.REJECT]

    def part(self, rows: Sequence[int]) -> Self:
        """Some of the rows."""
        return type(self)(self.poll, [self.numbers[row] for row in rows])

    def again(self, most: int) -> Self:
        """The first rows."""
        return type(self)(self.poll, self.numbers[:most])

    def accept_open(self) -> None:
        """Accept what is open."""
        for number in self.numbers:
            self.poll.decided.setdefault(number, AcknowledgeType.ACCEPT)

    def decide(self, kind: AcknowledgeType, rows: Sequence[int] | None = None) -> None:
        """Note a decision."""
        chosen = self.numbers if rows is None else [self.numbers[row] for row in rows]
        self.poll.decided.update(dict.fromkeys(chosen, kind))

    def reopen(self) -> None:
        """Forget the decisions."""
        for number in self.numbers:
            self.poll.decided.pop(number, None)

    def end(self) -> None:
        """Note that the poll is over."""
        self.poll.is_over = True


Process = Callable[[ListedSubBatch, int], RunOutcome]
Step = SubBatchStep[ListedSubBatch]


@define
class Played:
    """The steps of a handling in words, with their numbers, and how it ended."""

    steps: list[tuple[object, ...]] = field(factory=list)
    now_ms: int = 0
    done: SubBatchesDone | None = None

    def of(self, kind: str) -> list[tuple[object, ...]]:
        """The steps of one kind, without its name."""
        return [step[1:] for step in self.steps if step[0] == kind]


def play(
    handling: SubBatchHandling[ListedSubBatch],
    poll: ListedPoll,
    process: Process,
    *,
    others: Iterable[ListedPoll] = (),
    copies: bool = True,
    ends_ms: int | None = None,
    now_ms: int = 0,
) -> Played:
    """Do the steps of a handling until it is done.

    Args:
        handling: The rules.
        poll: The records that arrive first.
        process: Given a sub-batch and the time.
        others: What arrives while the rules want records.
        copies: Whether copies are confirmed.
        ends_ms: When the run is to end.
        now_ms: When it begins.
    """
    played, more = Played(now_ms=now_ms), list(others)
    handling.arrived(poll.whole)
    while not isinstance(step := _next(handling, played, ends_ms), SubBatchesDone):
        assert len(played.steps) < 2_000, "it does not end"
        _do(handling, step, played, process, more, copies=copies)
    played.done = step
    return played


def _next(handling: SubBatchHandling[ListedSubBatch], played: Played, ends_ms: int | None) -> Step:
    return handling.next(played.now_ms, is_ending=ends_ms is not None and played.now_ms >= ends_ms)


def _do(
    handling: SubBatchHandling[ListedSubBatch],
    step: Step,
    played: Played,
    process: Process,
    more: list[ListedPoll],
    *,
    copies: bool,
) -> None:
    match step:
        case RunSubBatch(sub_batch):
            played.steps.append(("run", *sub_batch.numbers))
            handling.ran(process(sub_batch, played.now_ms))
        case WriteSubBatchDeadLetters(sub_batch, reason):
            played.steps.append(("copy", reason, *sub_batch.numbers))
            handling.copied(is_confirmed=copies)
        case AcknowledgeSubBatch(sub_batch, end):
            played.steps.append(("settle", end, {n: sub_batch.poll.decided[n] for n in sub_batch.numbers}))
            handling.settled()
        case AwaitConfirmation():
            played.steps.append(("confirm",))
            handling.confirmed()
        case WaitBetweenTries():
            played.steps.append(("wait", step.wait_ms, step.wants_records, step.held, step.failures))
            other = more.pop(0) if step.wants_records and more else None
            played.now_ms += 0 if other else step.wait_ms
            handling.waited(other.whole if other else None)
