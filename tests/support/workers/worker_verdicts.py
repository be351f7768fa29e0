"""The verdict about a run: nothing lost, dead letters where they belong, no delivery spent in vain, order kept."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from tests.support.workers.journal import JournalEntry, Step
from tests.support.workers.journaled_worker import Nature
from tests.support.workers.worker_brokers import Place, WrittenDeadLetter
from tests.support.workers.worker_plans import StrikePlan, Theme

__all__ = ["WorkerRecords", "summary", "violations"]


@frozen
class WorkerRecords:
    """All that is known after a run.

    Attributes:
        written: The nature of each record.
        entries: The journal.
        letters: The dead letters.
    """

    written: Mapping[Place, Nature]
    entries: Sequence[JournalEntry]
    letters: Sequence[WrittenDeadLetter]

    @property
    def done(self) -> Counter[Place]:
        """How often each record was done."""
        return Counter(entry.place for entry in self.entries if entry.step is Step.DONE)

    @property
    def letters_of(self) -> Mapping[Place, Sequence[WrittenDeadLetter]]:
        """The dead letters of each record."""
        letters: defaultdict[Place, list[WrittenDeadLetter]] = defaultdict(list)
        for letter in self.letters:
            letters[letter.place].append(letter)
        return letters


def violations(records: WorkerRecords, plan: StrikePlan) -> list[str]:
    """Return what should not have happened; empty if all is well."""
    found = [*_lost(records), *_wrong_letters(records, plan), *_second_runs(records)]
    if plan.theme is Theme.SINK:
        found += _spent(records)
    if plan.keeps_order and plan.counts_hold:
        found += _out_of_order(records.entries)
    return found


def summary(records: WorkerRecords) -> str:
    """Return a line of figures."""
    natures = Counter(nature.value for nature in records.written.values())
    deliveries = Counter(entry.delivery_count for entry in records.entries if entry.step is Step.BEGINS)
    early = sum(letter.is_early for letter in records.letters)
    again = sum(count - 1 for count in records.done.values())
    return (
        f"written {dict(natures)}, done again {again}, attempts by delivery {dict(sorted(deliveries.items()))},"
        f" dead letters {len(records.letters)}, of them early {early}"
    )


def _lost(records: WorkerRecords) -> Iterator[str]:
    """Each record was done, or is a dead letter."""
    done, letters_of = records.done, records.letters_of
    for place, nature in records.written.items():
        if place not in done and place not in letters_of:
            yield f"lost: {nature.value} {place}"
        if nature is not Nature.GOOD and place in done:
            yield f"done although it is bad: {nature.value} {place}"


def _wrong_letters(records: WorkerRecords, plan: StrikePlan) -> Iterator[str]:
    letters_of = records.letters_of
    for place in letters_of.keys() - records.written.keys():
        yield f"a dead letter of a record that nobody wrote: {place}"
    for place, nature in records.written.items():
        letters = letters_of.get(place, ())
        if nature is Nature.GOOD and not all(letter.is_early for letter in letters):
            yield f"a dead letter of a good record: {place} {letters}"
        if nature is not Nature.GOOD:
            yield from _wrong_copies(place, nature, letters, plan)


def _wrong_copies(
    place: Place, nature: Nature, letters: Sequence[WrittenDeadLetter], plan: StrikePlan
) -> Iterator[str]:
    """A bad record has a copy. Those of redeliveries say that there may be others."""
    if not letters:
        yield f"no dead letter of {nature.value} {place}"
    if any(letter.delivery_count > 1 and not letter.is_possible_duplicate for letter in letters):
        yield f"a possible duplicate has no mark: {nature.value} {place} {letters}"
    if plan.counts_hold:
        yield from _repeated_copies(place, letters)
    if nature is Nature.KILLS and not all(letter.is_early for letter in letters):
        yield f"a copy of a record that kills was not made before: {place} {letters}"
    if plan.theme is Theme.SINK and len(letters) > 1:
        yield f"several copies although nothing was redelivered: {place} {letters}"


def _repeated_copies(place: Place, letters: Sequence[WrittenDeadLetter]) -> Iterator[str]:
    """While brokers answer and count, one delivery is copied once, and the copy of the first is no duplicate."""
    counts = Counter(letter.delivery_count for letter in letters)
    if max(counts.values(), default=0) > 1:
        yield f"copied twice with one delivery: {place} {letters}"
    if any(letter.delivery_count == 1 and letter.is_possible_duplicate for letter in letters):
        yield f"the copy of a first delivery is marked as a duplicate: {place} {letters}"


def _second_runs(records: WorkerRecords) -> Iterator[str]:
    """In one process no record has two attempts at a time."""
    running: set[tuple[int, Place]] = set()
    for entry in records.entries:
        mine = entry.process, entry.place
        if entry.step is not Step.BEGINS:
            running.discard(mine)
        elif mine in running:
            yield f"a second attempt while the first ran: {entry}"
        else:
            running.add(mine)


def _spent(records: WorkerRecords) -> Iterator[str]:
    """An outage of the sink alone spends no delivery, and no record is done twice."""
    for entry in records.entries:
        if entry.delivery_count > 1:
            yield f"a delivery was spent: {entry}"
    yield from (f"done {count} times: {place}" for place, count in records.done.items() if count > 1)


def _out_of_order(entries: Iterable[JournalEntry]) -> Iterator[str]:
    """In one process, records of a key and a partition begin in the order of offsets, with their first delivery."""
    last: dict[tuple[int, str, int], int] = {}
    for entry in entries:
        if entry.step is not Step.BEGINS or entry.delivery_count > 1:
            continue
        partition, offset = entry.place
        order = entry.process, entry.key, partition
        if offset < last.get(order, -1):
            yield f"after offset {last[order]}: {entry}"
        last[order] = offset
