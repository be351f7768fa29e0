"""The verdict about a run with retry topics: nothing lost, nothing too early, no duplicate without a kill."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from tests.support.workers.retried_worker import RetriedEntry, RetriedNature, RetriedStep
from tests.support.workers.worker_brokers import Place, WrittenDeadLetter

__all__ = ["RetriedRecords", "ended_while_waiting", "lost_retries", "summary_of_retries", "violations_of_retries"]

_CLOCKS_MS = 2
"""Two readings of the clock, each rounded."""


@frozen
class RetriedRecords:
    """All that is known after a run.

    Attributes:
        written: The nature of each record.
        entries: The journal.
        letters: The dead letters.
        kills: How many processes were killed.
        kills_ms: How long the kills took, in milliseconds.
    """

    written: Mapping[Place, RetriedNature]
    entries: Sequence[RetriedEntry]
    letters: Sequence[WrittenDeadLetter]
    kills: int
    kills_ms: float

    def entries_with(self, step: RetriedStep) -> Sequence[RetriedEntry]:
        """The entries of a step."""
        return [entry for entry in self.entries if entry.step is step]

    @property
    def done(self) -> Counter[Place]:
        """How often each record was done."""
        return Counter(entry.origin for entry in self.entries_with(RetriedStep.DONE))

    @property
    def letters_of(self) -> Mapping[Place, Sequence[WrittenDeadLetter]]:
        """The dead letters of each record."""
        letters: defaultdict[Place, list[WrittenDeadLetter]] = defaultdict(list)
        for letter in self.letters:
            letters[letter.place].append(letter)
        return letters


def violations_of_retries(records: RetriedRecords) -> list[str]:
    """Return what should not have happened; empty if all is well."""
    missing = [*lost_retries(records), *ended_while_waiting(records)]
    return [*missing, *_wrong_ends(records), *_too_early(records), *_unexplained_duplicates(records)]


def summary_of_retries(records: RetriedRecords) -> str:
    """Return a line of figures."""
    natures = Counter(nature.value for nature in records.written.values())
    waits = Counter(entry.delivery_count for entry in records.entries_with(RetriedStep.WAIT))
    forwards = Counter(entry.delivery_count for entry in records.entries_with(RetriedStep.FORWARD))
    attempts = Counter(entry.delivery_count for entry in records.entries_with(RetriedStep.BEGINS))
    again = sum(count - 1 for count in records.done.values())
    early = sum(letter.is_early for letter in records.letters)
    return (
        f"written {dict(natures)}, {records.kills} SIGKILLs in {records.kills_ms / 1000:.0f} s,"
        f" lost {len(lost_retries(records))}, ended while they waited {len(ended_while_waiting(records))},"
        f" done again {again}, by delivery: waits {dict(sorted(waits.items()))},"
        f" forwarded {dict(sorted(forwards.items()))}, attempts {dict(sorted(attempts.items()))},"
        f" dead letters {len(records.letters)}, of them early {early}"
    )


def lost_retries(records: RetriedRecords) -> list[str]:
    """Return the records that were neither done nor are dead letters."""
    done, letters = records.done, records.letters_of
    return [
        f"lost: {nature.value} {place}"
        for place, nature in records.written.items()
        if place not in done and place not in letters
    ]


def ended_while_waiting(records: RetriedRecords) -> list[str]:
    """Return the records that brokers archived before the delay was over, as their deliveries were used up.

    There are copies of them: a worker writes one on a late delivery. But their next attempt never came.
    """
    done, last = records.done, {entry.origin: entry for entry in records.entries}
    ended = [entry for place, entry in last.items() if place not in done and entry.step is RetriedStep.WAIT]
    return [f"ended while it waited: {entry}" for entry in ended]


def _wrong_ends(records: RetriedRecords) -> Iterator[str]:
    done, letters_of = records.done, records.letters_of
    for place, nature in records.written.items():
        is_bad, letters = nature is RetriedNature.BAD, letters_of.get(place, ())
        if is_bad and place in done:
            yield f"done although it is bad: {place}"
        # A record that may have ended its process is copied before it runs again.
        if not is_bad and not all(letter.is_early for letter in letters):
            yield f"a dead letter of a good record: {place} {letters}"
        if any(letter.headers["topic"] != letters[0].headers["topic"] for letter in letters):
            yield f"dead letters of one record name several origins: {place} {letters}"


def _too_early(records: RetriedRecords) -> Iterator[str]:
    """An attempt starts when the one before has failed and its wait is over."""
    due: dict[tuple[Place, int], int] = {}
    for entry in records.entries:
        key = entry.origin, entry.attempt
        if entry.step is RetriedStep.FAILS:
            due[key] = min(entry.due_ms, due.get(key, entry.due_ms))
        elif entry.step is RetriedStep.BEGINS and entry.attempt > 1:
            due_ms = due.get((entry.origin, entry.attempt - 1))
            if due_ms is None:
                yield f"attempt {entry.attempt} without the one before: {entry}"
            elif entry.at_ms < due_ms - _CLOCKS_MS:
                yield f"{due_ms - entry.at_ms} ms before it was due: {entry}"


def _unexplained_duplicates(records: RetriedRecords) -> Iterator[str]:
    """A record is done again only as often as it, or one of its copies in retry topics, was handled again.

    Delivery counts would not do: brokers forget those of records in hand with the last connection of a group.
    """
    handled: defaultdict[tuple[Place, str], set[tuple[int, int]]] = defaultdict(set)
    for entry in records.entries:
        if entry.step in {RetriedStep.BEGINS, RetriedStep.FORWARD}:
            handled[entry.origin, entry.place].add((entry.process, entry.delivery_count))
    again = Counter[Place]()
    for (origin, _), deliveries in handled.items():
        again[origin] += len(deliveries) - 1
    for place, count in records.done.items():
        if count - 1 > again[place]:
            yield f"done {count} times, although it was handled again {again[place]} times: {place}"
