"""Turn the results of a handler into the records of its outputs, in the slot that has called it."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, closing
from typing import Any, Final, Protocol

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.errors.texts import named, represented
from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.serdes.serde import Serde
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.batch import Batch
from kafka_groups.share.workers.outputs import (
    MOST_RESULT_BYTES,
    MOST_RESULT_RECORDS,
    AnyOutput,
    AnyProducerRecord,
    InputKey,
    ProducerRecord,
)
from kafka_groups.share.workers.rules.failures.signals import HandlerResultError, OutputError
from kafka_groups.share.workers.rules.retry_topics.retried_records import origin_of
from kafka_groups.share.workers.rules.runs import NO_OUTPUTS, Outputs
from kafka_groups.share.workers.rules.steps import FailedRecord
from kafka_groups.share.workers.running.results import check_done
from kafka_groups.types import Header, Headers

__all__ = ["IgnoredResults", "OutputRecords", "RunResults", "WrittenResults"]

_MEGABYTE: Final = 1024 * 1024
_PLAIN: Final = frozenset({bytes, str})


class RunResults(Protocol):
    """Takes what a handler returns for the records of one run."""

    @property
    def outputs(self) -> Outputs:
        """The records to write."""
        ...

    def take(self, index: int, record: AnyRecord, result: Any) -> None:
        """Take a result that is not None, of a record of the run.

        Raises:
            HandlerResultError: It is work that nobody will do.
            OutputError: It cannot be written.
        """
        ...

    async def take_async(self, index: int, record: AnyRecord, result: Any) -> None:
        """Take a result of an asynchronous handler, which may be an asynchronous iterator."""
        ...

    def take_of_batch(self, result: Any) -> None:
        """Take a result that is not None, of a batch handler.

        Raises:
            HandlerResultError: It is work that nobody will do, or somebody expects that it is written.
        """
        ...

    def take_outputs(self, batch: Batch[Any], indexes: Sequence[int]) -> Iterable[FailedRecord[AnyRecord]]:
        """Take the outputs that a batch handler has added. Returns the records whose outputs cannot be written.

        Args:
            batch: The batch, which has ended.
            indexes: The position in the run of each of its records.
        """
        ...

    def without(self, failures: Iterable[FailedRecord[AnyRecord]]) -> Outputs:
        """Return the records to write, without those for records that have failed after all."""
        ...


class IgnoredResults:
    """Drops the results of a handler without outputs, but refuses work that is not done."""

    outputs = NO_OUTPUTS

    def take(self, index: int, record: AnyRecord, result: Any) -> None:
        """Refuse work that is not done."""
        del index, record
        check_done(result)

    async def take_async(self, index: int, record: AnyRecord, result: Any) -> None:
        """Refuse work that is not done."""
        self.take(index, record, result)

    def take_of_batch(self, result: Any) -> None:
        """Refuse work that is not done."""
        check_done(result)

    def take_outputs(self, batch: Batch[Any], indexes: Sequence[int]) -> Iterable[FailedRecord[AnyRecord]]:
        """Return nothing: without outputs, a batch takes no records."""
        del batch, indexes
        return ()

    def without(self, failures: Iterable[FailedRecord[AnyRecord]]) -> Outputs:
        """Return nothing."""
        del failures
        return self.outputs


class WrittenResults:
    """The results of one run of a handler with outputs.

    Args:
        records: Makes the records of the outputs.
    """

    def __init__(self, records: "OutputRecords") -> None:
        self._records = records
        self.outputs: dict[int, Sequence[RecordToWrite]] = {}

    def take(self, index: int, record: AnyRecord, result: Any) -> None:
        """Serialise a result.

        Raises:
            HandlerResultError: It is work that nobody will do.
            OutputError: It cannot be written.
        """
        if written := self._records.of_result(result, record):
            self.outputs[index] = written

    async def take_async(self, index: int, record: AnyRecord, result: Any) -> None:
        """Serialise a result, which may be an asynchronous iterator."""
        if not isinstance(result, AsyncIterator):
            self.take(index, record, result)
        elif written := await self._records.of_iterator(result, record):
            self.outputs[index] = written

    def take_of_batch(self, result: Any) -> None:
        """Refuse any result: nothing says which record it is for.

        Raises:
            HandlerResultError: Always.
        """
        check_done(result)
        raise HandlerResultError(
            f"the batch handler returned {represented(result)}, which is not written: write its outputs with"
            " batch.output(index, ...)"
        )

    def take_outputs(self, batch: Batch[Any], indexes: Sequence[int]) -> Iterable[FailedRecord[AnyRecord]]:
        """Serialise the outputs that a batch handler has added. Returns the records for which that fails."""
        for position, items in batch.outputs().items():
            try:
                self.take(indexes[position], batch.records[position], items)
            except Exception as error:  # the rules decide what it means
                yield FailedRecord(indexes[position], error)

    def without(self, failures: Iterable[FailedRecord[AnyRecord]]) -> Outputs:
        """Return the records to write, without those for records that have failed after all."""
        # An attempt may fail after its result was taken, for example when its middleware commits.
        for failure in failures:
            self.outputs.pop(failure.index, None)
        return self.outputs


# ---------------------------------------------------------------------------------------------- records


class OutputRecords:
    """Makes the records of a handler's outputs. Several threads may use it at the same time.

    Args:
        outputs: The outputs of the handler.
    """

    def __init__(self, outputs: Sequence[AnyOutput]) -> None:
        self._topics = {output.topic: _OutputTopic(output) for output in outputs}
        self._only = next(iter(self._topics.values())) if len(self._topics) == 1 else None

    def __repr__(self) -> str:
        return f"<OutputRecords for {', '.join(self._topics)}>"

    def of_result(self, result: Any, source: AnyRecord) -> Sequence[RecordToWrite]:
        """Return the records for what a handler has returned.

        Raises:
            HandlerResultError: It is work that nobody will do.
            OutputError: It cannot be written.
        """
        # Bytes and text are neither several results nor work that is not done. Fast handlers return nothing else.
        if type(result) in _PLAIN and self._only is not None:
            record = self._only.plain(result, source)
            if record.size_bytes > MOST_RESULT_BYTES:
                raise _too_large()
            return (record,)
        # A value may be a tuple with names, so of tuples only the class itself is several results.
        if isinstance(result, list) or type(result) is tuple:
            return self._of_several(result, source)
        if isinstance(result, Iterator):
            with closing(_yielded(result)) as yielded:
                return self._of_several(yielded, source)
        check_done(result)
        return self._of_several((result,), source)

    async def of_iterator(self, results: AsyncIterator[Any], source: AnyRecord) -> Sequence[RecordToWrite]:
        """Return the records for what an asynchronous generator yields.

        Raises:
            OutputError: A result cannot be written.
        """
        collected = _CollectedRecords()
        async with AsyncExitStack() as stack:
            # If a result cannot be written, the generator ends now, and not when somebody collects garbage.
            if isinstance(results, AsyncGenerator):
                await stack.enter_async_context(aclosing(results))
            async for result in results:
                if result is not None:
                    collected.add(self._record(result, source))
        return collected.records

    def _of_several(self, results: Iterable[Any], source: AnyRecord) -> Sequence[RecordToWrite]:
        collected = _CollectedRecords()
        for result in results:
            if result is not None:
                collected.add(self._record(result, source))
        return collected.records

    def _record(self, result: Any, source: AnyRecord) -> RecordToWrite:
        if isinstance(result, ProducerRecord):
            return self._topic_of(result).routed(result, source)
        if self._only is None:
            raise OutputError(
                f"the result {represented(result)} names no topic, and the handler has several outputs: return"
                f" ProducerRecord(value, topic=...) with {self._names}"
            )
        return self._only.plain(result, source)

    def _topic_of(self, record: AnyProducerRecord) -> "_OutputTopic":
        if record.topic is None and self._only is not None:
            return self._only
        try:
            return self._topics[record.topic or ""]
        except (KeyError, TypeError):  # it may be anything, even what cannot be hashed
            raise OutputError(
                f"ProducerRecord(topic={record.topic!r}) is not for an output of the handler: use {self._names}, or"
                " declare the topic with output="
            ) from None

    @property
    def _names(self) -> str:
        return " or ".join(map(repr, self._topics))


def _yielded(results: Any) -> Generator[Any, None, None]:
    """Yield the results of an iterator.

    Raises:
        OutputError: It is a generator that also returns a value, which nothing would write.
    """
    returned = yield from results
    if returned is not None:
        raise OutputError(
            f"the generator returned {represented(returned)} after the results that it has yielded: yield it, too"
        )


def _too_large() -> OutputError:
    return OutputError(
        f"the handler returned more than {MOST_RESULT_BYTES // _MEGABYTE} MB for one record: return less, or write it"
        " in the handler"
    )


class _CollectedRecords:
    """The records for one input, within the limits."""

    def __init__(self) -> None:
        self.records: list[RecordToWrite] = []
        self._size_bytes = 0

    def add(self, record: RecordToWrite) -> None:
        self.records.append(record)
        self._size_bytes += record.size_bytes
        # The limits bound the memory of a generator that never ends, so they are looked at with each record.
        if len(self.records) > MOST_RESULT_RECORDS:
            raise OutputError(
                f"the handler returned more than {MOST_RESULT_RECORDS:,} records for one record: return fewer, or"
                " write them in the handler"
            )
        if self._size_bytes > MOST_RESULT_BYTES:
            raise _too_large()


# ---------------------------------------------------------------------------------------------- one topic


class _OutputTopic:
    """Serialises what is written to one topic."""

    def __init__(self, output: AnyOutput) -> None:
        self._topic = output.topic
        self._value = self._serializer(output.value, "value")
        self._key = self._serializer(output.key, "key")
        self._has_origin_headers = output.origin_headers
        self._takes_bytes = output.value is None and not output.origin_headers

    def plain(self, value: Any, source: AnyRecord) -> RecordToWrite:
        """Return the record of a value without options."""
        if self._takes_bytes and type(value) is bytes:
            return RecordToWrite(self._topic, source.raw_key, value)
        headers: list[Header] = []
        data = self._value(value, headers)
        if self._has_origin_headers:
            headers += _origin_headers(source)
        return RecordToWrite(self._topic, source.raw_key, data, tuple(headers))

    def routed(self, record: AnyProducerRecord, source: AnyRecord) -> RecordToWrite:
        """Return the record of a value with options."""
        headers = list(_checked_headers(record))
        key = source.raw_key
        if record.key is not InputKey.SAME:
            key = None if record.key is None else self._key(record.key, headers)
        data = None if record.value is None else self._value(record.value, headers)
        if self._has_origin_headers:
            headers += _origin_headers(source)
        return RecordToWrite(self._topic, key, data, tuple(headers), _checked_timestamp(record))

    def _serializer(self, serde: Serde[Any] | None, part: str) -> Callable[[Any, list[Header]], bytes]:
        topic = self._topic
        if serde is None:
            return lambda data, _: _checked_bytes(data, part, topic)
        serialize = serde.serializer(topic, is_key=part == "key")

        def serialized(value: Any, headers: list[Header]) -> bytes:
            try:
                return serialize(value, headers)
            except Exception as error:
                # A registry that cannot be reached may answer the next time: that is a failure like any other of the
                # handler's, with its retries.
                if isinstance(error, OSError) or (isinstance(error, KafkaGroupsError) and error.retriable):
                    raise
                raise OutputError(f"the {part} cannot be written to {topic}: {named(error)}") from error

        return serialized


def _checked_bytes(data: Any, part: str, topic: str) -> bytes:
    if isinstance(data, bytes):
        return data
    raise OutputError(
        f"the {part} {represented(data)} cannot be written to {topic}: it is not bytes. Return bytes, or declare"
        f" Output({topic!r}, {part}=...) with a serde"
    )


def _checked_headers(record: AnyProducerRecord) -> Sequence[Header]:
    headers: object = record.headers
    if isinstance(headers, list | tuple) and all(map(_is_header, headers)):
        return headers
    raise OutputError(
        f'ProducerRecord(headers={represented(headers)}): give a list of names and values, such as [("source", b"web")]'
    )


def _is_header(header: object) -> bool:
    match header:
        case (str(), bytes() | None):
            return isinstance(header, tuple)
        case _:
            return False


def _checked_timestamp(record: AnyProducerRecord) -> int | None:
    timestamp: object = record.timestamp
    if timestamp is None:
        return None
    if isinstance(timestamp, bool) or not isinstance(timestamp, int) or not 0 <= timestamp < 2**63:
        raise OutputError(
            f"ProducerRecord(timestamp={represented(timestamp)}): give whole milliseconds since the epoch, or None for"
            " the time of writing"
        )
    return timestamp


def _origin_headers(source: AnyRecord) -> Headers:
    origin = origin_of(source)  # which stays the same while the record moves through retry topics
    values = {"topic": origin.topic, "partition": origin.partition, "offset": origin.offset}
    return tuple((f"__origin.{name}", str(value).encode()) for name, value in values.items())
