"""A dead-letter topic as commands see it: its records, single ones, the records that they came from, and deletion."""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Final, Self

from attrs import evolve, frozen

from kafka_groups.admin.rules.topics import partitions_of_topics
from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.partition_offsets import EARLIEST, LATEST, offsets_at, offsets_at_or_ends
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.calls.record_deletion import deletion_of_records
from kafka_groups.client.principals import principal_of
from kafka_groups.client.requests import Lane
from kafka_groups.client.rights import refused
from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.errors import KafkaGroupsError, TopicAuthorizationFailedError, UnknownTopicOrPartitionError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.records.fetching.validating import not_readable
from kafka_groups.records.producing.refusal_texts import not_writable
from kafka_groups.records.reader import RecordReader
from kafka_groups.share.dead_letters.log_reading import LogReading
from kafka_groups.share.dead_letters.rules.counting import DeadLetterCount, DeadLetterCounts
from kafka_groups.share.dead_letters.rules.dead_letter_records import DeadLetterOrigin, DeadLetterRecord, RecordPlace
from kafka_groups.share.dead_letters.rules.selections import DeadLetterSelection
from kafka_groups.types import FetchedRecord, TopicPartition

__all__ = ["Bounds", "DeadLetterTopic", "FoundLetters", "RecordsToDelete"]

_READ_UNCOMMITTED: Final = 0  # as share groups, so that the same records are read with a group and without one
_SMALL_GAP: Final = 1_000
"""So many offsets between two wanted records are read through. Over a larger gap, the next one is fetched by itself."""

Bounds = Mapping[TopicPartition, tuple[int, int]]


@frozen
class FoundLetters:
    """Dead letters that were found.

    Attributes:
        letters: The oldest ones, in the order of their timestamps.
        has_more: Whether others were left out.
    """

    letters: Sequence[DeadLetterRecord]
    has_more: bool


@frozen
class RecordsToDelete:
    """The records at the beginning of a partition that are deleted.

    Attributes:
        partition: The partition.
        begin: The offset of the first record.
        before: The offset of the first record that stays, or the end of the partition.
    """

    partition: TopicPartition
    begin: int
    before: int

    @property
    def count(self) -> int:
        """The number of offsets. There may be fewer records, as offsets may be unused."""
        return self.before - self.begin


class DeadLetterTopic:
    """Reads and deletes the records of a topic, without a group. Use it in an `async with` statement.

    Args:
        name: The topic.
        config: How to reach the brokers.
        timeout_ms: The longest wait for an answer or a record.
        environment: Network, clock and randomness.
    """

    def __init__(
        self, name: str, config: ClientConfig, timeout_ms: int, environment: Environment | None = None
    ) -> None:
        self.name = name
        self._timeout_ms = timeout_ms
        self._client = client = RecordsClient(config, environment)
        self._principal = principal_of(config)
        options = FetchOptions(isolation_level=_READ_UNCOMMITTED, principal=self._principal)
        self._letters = LogReading(client, RecordReader(client, options, "dead letters"), timeout_ms)
        # Over connections of its own: while a broker waits for more dead letters, it answers nothing behind that.
        others = evolve(options, lane=Lane.RESTORATION)
        self._origins = LogReading(client, RecordReader(client, others, "origins"), timeout_ms)

    def __repr__(self) -> str:
        return f"<DeadLetterTopic {self.name}: {self._client!r}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    def ask(self) -> Asking:
        """Return a function that asks questions, all of them together for the longest wait."""
        return self._client.within(self._timeout_ms)

    async def partitions(self) -> tuple[TopicPartition, ...]:
        """Return its partitions.

        Raises:
            UnknownTopicOrPartitionError: It does not exist.
            KafkaGroupsError: The brokers do not tell.
        """
        return await self._partitions(not_readable(self.name, self._principal))

    async def _partitions(self, denied: KafkaGroupsError) -> tuple[TopicPartition, ...]:
        try:
            found = (await self.partitions_of([self.name]))[self.name]
        except TopicAuthorizationFailedError as error:
            raise denied from error
        if not found:
            raise UnknownTopicOrPartitionError(f"The topic {self.name} does not exist. Correct its name.")
        return found

    async def partitions_of(self, topics: Iterable[str]) -> Mapping[str, tuple[TopicPartition, ...]]:
        """Return the partitions of topics; none for one that does not exist.

        Raises:
            KafkaGroupsError: The brokers do not tell.
        """
        wanted = tuple(dict.fromkeys(topics))
        if not wanted:
            return {}
        found = await partitions_of_topics(self.ask(), wanted)
        return {topic: () if _is_missing(found.errors.get(topic)) else found[topic] for topic in wanted}

    async def errors_of_topics(self, topics: Iterable[str]) -> Mapping[str, KafkaGroupsError]:
        """Return the errors of topics that cannot be written to, as far as the brokers tell before.

        Raises:
            KafkaGroupsError: The brokers cannot be used at all.
        """
        wanted = tuple(topics)
        errors = (await partitions_of_topics(self.ask(), wanted)).errors if wanted else {}
        return {
            topic: not_writable(topic, self._principal) if isinstance(error, TopicAuthorizationFailedError) else error
            for topic, error in errors.items()
        }

    # -------------------------------------------------------------------------------------------- reading

    async def oldest(self, selection: DeadLetterSelection, most: int) -> FoundLetters:
        """Return selected dead letters, the oldest ones first.

        Args:
            selection: The selection.
            most: The largest number of them.

        Raises:
            KafkaGroupsError: They cannot be read.
        """
        found: dict[TopicPartition, list[DeadLetterRecord]] = {}
        async for letters in self.read(selection, await self.bounds(selection)):
            for letter in letters:
                found.setdefault(letter.partition, []).append(letter)
            # One more than wanted of a partition shows that there are more. The oldest ones may be in any partition.
            self._letters.stop([place for place, some in found.items() if len(some) > most])
        letters = sorted((each for some in found.values() for each in some), key=_age)
        return FoundLetters(letters[:most], len(letters) > most)

    async def counts(self, selection: DeadLetterSelection) -> Sequence[DeadLetterCount]:
        """Count the selected dead letters by origin and error.

        Raises:
            KafkaGroupsError: They cannot be read.
        """
        counts = DeadLetterCounts()
        async for letters in self.read(selection, await self.bounds(selection)):
            for letter in letters:
                counts.add(letter)
        return counts.largest_first()

    async def bounds(self, selection: DeadLetterSelection) -> Bounds:
        """Return where to read for a selection: from the first record that may be selected up to the ends of now."""
        partitions = await self.partitions()
        ends = (await offsets_at(self.ask(), partitions, LATEST)).checked().values
        if selection.since_ms is None:
            starts = (await offsets_at(self.ask(), partitions, EARLIEST)).checked().values
        else:
            starts = (await offsets_at_or_ends(self.ask(), partitions, selection.since_ms)).checked().values
        return {place: (starts[place], ends[place]) for place in partitions}

    async def read(self, selection: DeadLetterSelection, bounds: Bounds) -> AsyncGenerator[Sequence[DeadLetterRecord]]:
        """Iterate over the selected dead letters between offsets, some at a time. The order is that of each partition.

        Raises:
            KafkaGroupsError: They cannot be read.
        """
        self._letters.begin(bounds)
        while not self._letters.is_over:
            read = await self._letters.next()
            letters = [DeadLetterRecord(place, each) for place, records in read.items() for each in records]
            yield [letter for letter in letters if letter in selection]

    async def at(self, places: Iterable[RecordPlace]) -> Mapping[RecordPlace, DeadLetterRecord]:
        """Return the dead letters at places. Those that do not exist are left out.

        Raises:
            KafkaGroupsError: They cannot be read.
        """
        wanted = tuple(dict.fromkeys(places))
        partitions = {each.partition: each for each in await self.partitions()}
        offsets = [(partitions[each.partition], each.offset) for each in wanted if each.partition in partitions]
        found = await self._records_at(self._letters, offsets)
        letters = [DeadLetterRecord(partition, record) for (partition, _), record in found.items()]
        return {letter.place: letter for letter in letters}

    async def origins(self, wanted: Iterable[DeadLetterOrigin]) -> Mapping[DeadLetterOrigin, FetchedRecord]:
        """Return the records that dead letters came from. Those that do not exist any more are left out.

        Raises:
            KafkaGroupsError: They cannot be read.
        """
        asked = tuple(dict.fromkeys(wanted))
        partitions = await self.partitions_of(each.partition.topic for each in asked)
        there = [each for each in asked if each.partition in partitions[each.partition.topic]]
        found = await self._records_at(self._origins, [(each.partition, each.offset) for each in there])
        return {DeadLetterOrigin(*place): record for place, record in found.items()}

    async def _records_at(
        self, reading: LogReading, wanted: Iterable[tuple[TopicPartition, int]]
    ) -> Mapping[tuple[TopicPartition, int], FetchedRecord]:
        places = frozenset(wanted)
        found: dict[tuple[TopicPartition, int], FetchedRecord] = {}
        for bounds in rounds_of(places):
            reading.begin(await self._existing(bounds))
            while not reading.is_over:
                for partition, records in (await reading.next()).items():
                    some = {(partition, record.offset): record for record in records}
                    found.update({place: some[place] for place in places & some.keys()})
        return found

    async def _existing(self, bounds: Bounds) -> Bounds:
        """Return the parts of bounds that logs have now."""
        begins = (await offsets_at(self.ask(), bounds, EARLIEST)).checked().values
        ends = (await offsets_at(self.ask(), bounds, LATEST)).checked().values
        return {place: (max(start, begins[place]), min(end, ends[place])) for place, (start, end) in bounds.items()}

    # ------------------------------------------------------------------------------------------- deleting

    async def to_delete(self, before_ms: int | None) -> Sequence[RecordsToDelete]:
        """Return the records of each partition that a deletion up to a time deletes.

        Args:
            before_ms: The timestamp of the first record that stays; None: all are deleted.

        Raises:
            KafkaGroupsError: The brokers do not tell.
        """
        partitions = await self._partitions(
            refused(ApiKey.DELETE_RECORDS, ErrorCode.TOPIC_AUTHORIZATION_FAILED, (self.name,), self._principal)
        )
        begins = (await offsets_at(self.ask(), partitions, EARLIEST)).checked().values
        until = LATEST if before_ms is None else before_ms
        ends = (await offsets_at_or_ends(self.ask(), partitions, until)).checked().values
        return [RecordsToDelete(each, begins[each], max(begins[each], ends[each])) for each in sorted(partitions)]

    async def delete(self, records: Iterable[RecordsToDelete]) -> Mapping[TopicPartition, KafkaGroupsError]:
        """Delete records. Return the errors of partitions that kept theirs.

        Raises:
            KafkaGroupsError: The brokers cannot be used at all.
        """
        before = {each.partition: each.before for each in records}
        errors = (await self.ask()(deletion_of_records(before))).errors if before else {}
        return dict(errors)


def rounds_of(wanted: Iterable[tuple[TopicPartition, int]]) -> Sequence[Bounds]:
    """Divide wanted offsets into bounds to read, one after the other: in each, one run of offsets of each partition."""
    rounds: list[dict[TopicPartition, tuple[int, int]]] = []
    counts: dict[TopicPartition, int] = {}
    for place, offset in sorted(wanted):
        last = counts.get(place, 0) - 1
        if last >= 0 and offset - rounds[last][place][1] < _SMALL_GAP:
            rounds[last][place] = (rounds[last][place][0], offset + 1)
            continue
        counts[place] = last + 2
        if len(rounds) < counts[place]:
            rounds.append({})
        rounds[last + 1][place] = (offset, offset + 1)
    return rounds


def _age(letter: DeadLetterRecord) -> tuple[int, RecordPlace]:
    return letter.record.timestamp_ms, letter.place


def _is_missing(error: Exception | None) -> bool:
    return isinstance(error, UnknownTopicOrPartitionError)
