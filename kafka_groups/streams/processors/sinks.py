"""The steps of sinks: they serialise records and give them to the task's collector.

What a record costs here is a good part of what it costs at all, so sinks with a fixed topic have steps of their own.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.records.partitioning import partition_of
from kafka_groups.serdes.serde import BoundSerializer
from kafka_groups.serdes.windowed import WindowedSerde, window_writer
from kafka_groups.streams.processors.changes import change_serializer
from kafka_groups.streams.processors.surroundings import Collector, Failures, Surroundings
from kafka_groups.streams.topology.internal_topics import topic_name
from kafka_groups.streams.topology.nodes import NodeStep, Partitioner, SinkNode
from kafka_groups.streams.topology.partitioning import WindowedPartitioner, chosen_partitions
from kafka_groups.types import Header, Headers

__all__ = ["sink_step"]

_BY_DEFAULT: Sequence[int | None] = (None,)

Fields = tuple[Any, Any, int, Headers]
"""Key, value, timestamp and headers of a record, as objects or as bytes."""

PartitionChoice = Callable[[str, Fields], Sequence[int | None]]
"""Gets the topic and the record. Returns partitions: none if it is not written."""

_COUNTING: Final = 0
_CHOOSING: Final = 1
_SERIALISING: Final = 2
_WRITING: Final = 3
"""The steps of a record. The one at which it fails decides what has failed."""


def sink_step(sink: SinkNode, surroundings: Surroundings) -> NodeStep:
    """Return the step of a sink in one task."""
    if not isinstance(sink.topic, str):
        step = _writing(sink, sink.topic, surroundings)
    else:
        topic = topic_name(surroundings.topology, surroundings.application_id, sink.topic)
        if sink.partitioner is None:
            step = _writing_to_one_topic(sink, topic, surroundings)
        elif _is_windowed(sink):
            step = _writing_windows(sink, topic, surroundings)
        else:
            step = _writing(sink, lambda *_record: topic, surroundings)
    return _paired(step) if sink.takes_changes else step


def _is_windowed(sink: SinkNode) -> bool:
    """Return True if a sink sends all windows of a key to one partition, and its keys are written in the usual way."""
    partitioner = sink.partitioner
    is_usual = type(sink.key) is WindowedSerde
    return isinstance(partitioner, WindowedPartitioner) and partitioner.serde is sink.key and is_usual


def _writing_to_one_topic(sink: SinkNode, topic: str, surroundings: Surroundings) -> NodeStep:
    """Return the step of a sink with a fixed topic and the default partitioner, which hashes the bytes of the key."""
    context, failures, name = surroundings.record, surroundings.failures, sink.name
    send, is_refused_later = surroundings.collector.send, surroundings.collector.refuses_later
    refused, keeps_raw, failed = failures.refused, failures.keeps_raw, _deciding(sink, topic, failures)
    writer: _Writer | None = None

    def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
        nonlocal writer
        context.timestamp_ms, context.headers = timestamp_ms, headers
        stage, key_bytes, value_bytes = _SERIALISING, None, None
        try:
            if writer is None:
                writer = _Writer(sink, topic)
            written = list(headers)
            # A null stays null, so that a tombstone can be written whatever the serde does with None.
            if key is not None:
                key_bytes = writer.key(key, written)
            if value is not None:
                value_bytes = writer.value(value, written)
            later = None
            if is_refused_later:
                raw = context.raw if keeps_raw else None
                later = refused, name, context.topic, context.partition, context.offset, raw
            stage = _WRITING
            send(topic, key_bytes, value_bytes, timestamp_ms, tuple(written), None, later)
        except Exception as error:  # a serde of the user's may raise anything: a handler decides
            failed(stage, error, (key, value, timestamp_ms, headers), (key_bytes, value_bytes, timestamp_ms, headers))

    return step


def _writing_windows(sink: SinkNode, topic: str, surroundings: Surroundings) -> NodeStep:
    """Return the step of a sink with a fixed topic that sends all windows of a key to the partition of the key alone.

    It serialises a key once, for the choice of the partition and for the record.
    """
    serde: WindowedSerde[Any] = sink.key  # type: ignore[assignment]  # `_is_windowed` has seen to it
    context, failures, name = surroundings.record, surroundings.failures, sink.name
    send, is_refused_later = surroundings.collector.send, surroundings.collector.refuses_later
    refused, keeps_raw, failed = failures.refused, failures.keeps_raw, _deciding(sink, topic, failures)
    count_of, write_window = surroundings.collector.partitions, window_writer(serde)
    writer: _Writer | None = None
    write_inner: BoundSerializer[Any] | None = None

    def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
        nonlocal writer, write_inner
        context.timestamp_ms, context.headers = timestamp_ms, headers
        stage, partition, inner, key_bytes, value_bytes = _COUNTING, None, None, None, None
        try:
            count, written = count_of(topic), list(headers)
            # WindowedStreamPartitioner.partitions in Kafka.
            if key is not None and count > 1:
                stage = _CHOOSING
                if write_inner is None:
                    write_inner = serde.inner.serializer(topic, is_key=True)
                inner = write_inner(key.key, written)
                partition = partition_of(inner, count)
            stage = _SERIALISING
            if writer is None:
                writer = _Writer(sink, topic)
            if inner is not None:
                key_bytes = inner + write_window(key)
            elif key is not None:
                partition, key_bytes = 0, writer.key(key, written)
            if value is not None:
                value_bytes = writer.value(value, written)
            later = None
            if is_refused_later:
                raw = context.raw if keeps_raw else None
                later = refused, name, context.topic, context.partition, context.offset, raw
            stage = _WRITING
            send(topic, key_bytes, value_bytes, timestamp_ms, tuple(written), partition, later)
        except Exception as error:  # a serde of the user's may raise anything: a handler decides
            failed(stage, error, (key, value, timestamp_ms, headers), (key_bytes, value_bytes, timestamp_ms, headers))

    return step


def _deciding(
    sink: SinkNode, topic: str, failures: Failures
) -> Callable[[int, Exception, Fields, tuple[bytes | None, bytes | None, int, Headers]], None]:
    """Return the function that decides about a record that came so far, with its fields as objects and as bytes."""
    name = sink.name

    def failed(
        stage: int, error: Exception, record: Fields, written: tuple[bytes | None, bytes | None, int, Headers]
    ) -> None:
        if stage == _CHOOSING:
            failures.processing(name, error, record)
        # Errors of serializers are the production handler's, as in RecordCollectorImpl.handleException. Key and value
        # are given as objects, because there are no bytes.
        elif stage == _SERIALISING:
            failures.production(name, error, topic, record)
        elif isinstance(error, KafkaGroupsError):
            failures.unwritten(name, error, topic, written if stage == _WRITING else record)
        else:
            raise error

    return failed


def _writing(sink: SinkNode, topic_of: Callable[..., str], surroundings: Surroundings) -> NodeStep:
    """Return the step of a sink whose topic or partitions are chosen by functions of the user's."""
    collector, context, failures = surroundings.collector, surroundings.record, surroundings.failures
    writers: dict[str, _Writer] = {}
    choose, send = _partition_choice(sink, collector, failures), collector.send

    def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
        context.timestamp_ms, context.headers = timestamp_ms, headers
        try:
            topic = topic_of(key, value, context)
        except Exception as error:  # the user's topic function may raise anything: the handler decides
            # Java chooses the topic while it processes the node, so there, too, it is the processing handler's
            # (SinkNode.process in Kafka).
            failures.processing(sink.name, error, (key, value, timestamp_ms, headers))
            return
        # None as a partition leaves the choice to the default partitioner, which hashes the bytes of the key.
        partitions = _BY_DEFAULT if choose is None else choose(topic, (key, value, timestamp_ms, headers))
        if not partitions:
            return
        try:
            writer = writers.get(topic) or writers.setdefault(topic, _Writer(sink, topic))
            written = [*headers]
            # A null stays null, so that a tombstone can be written whatever the serde does with None.
            key_bytes = None if key is None else writer.key(key, written)
            value_bytes = None if value is None else writer.value(value, written)
        except Exception as error:  # a serde of the user's may raise anything: the handler decides
            failures.production(sink.name, error, topic, (key, value, timestamp_ms, headers))
            return
        try:
            later = None
            if collector.refuses_later:
                raw = context.raw if failures.keeps_raw else None
                later = failures.refused, sink.name, context.topic, context.partition, context.offset, raw
            for partition in partitions:
                send(topic, key_bytes, value_bytes, timestamp_ms, tuple(written), partition, later)
        except KafkaGroupsError as error:
            failures.unwritten(sink.name, error, topic, (key_bytes, value_bytes, timestamp_ms, headers))

    return step


def _partition_choice(sink: SinkNode, collector: Collector, failures: Failures) -> PartitionChoice | None:
    """Return the function that chooses the partitions of a record, or None for the default partitioner."""
    choose = _chosen_by(sink.partitioner)
    # Without a partitioner of its own a sink need not know the number of partitions, which may be a request to the
    # brokers.
    if choose is None:
        return None

    def choice(topic: str, record: Fields) -> Sequence[int | None]:
        try:
            # The user's partitioner gets the number of partitions (RecordCollectorImpl.send asks for it, too).
            count = collector.partitions(topic)
        except KafkaGroupsError as error:
            failures.unwritten(sink.name, error, topic, record)
            return ()
        try:
            partitions = choose(topic, record[0], record[1], count)
        except Exception as error:  # the user's partitioner may raise anything: the handler decides
            failures.processing(sink.name, error, record)
            return ()
        # A partitioner may choose several partitions, or none, which drops the record (RecordCollectorImpl.send).
        if not partitions:
            failures.dropped(sink.name, "its partitioner chose no partition")
        return partitions

    return choice


def _chosen_by(partitioner: Partitioner | None) -> Callable[[str, Any, Any, int], Sequence[int | None]] | None:
    if partitioner is None:
        return None
    if isinstance(partitioner, WindowedPartitioner):  # it chooses one that is right
        return lambda topic, key, value, count: (partitioner(topic, key, value, count),)
    return lambda topic, key, value, count: chosen_partitions(partitioner, topic, key, value, count)


def _paired(step: NodeStep) -> NodeStep:
    """Return the step of a sink whose values are pairs of new and old values."""

    def paired(key: Any, new: Any, old: Any, timestamp_ms: int, headers: Headers) -> None:
        step(key, (new, old), timestamp_ms, headers)

    return paired


class _Writer:
    """The bound serialisers of a sink for one topic, which may append to the headers that they are given."""

    def __init__(self, sink: SinkNode, topic: str) -> None:
        self.key = sink.key.serializer(topic, is_key=True)
        self.value = _change_writer(sink, topic) if sink.takes_changes else sink.value.serializer(topic, is_key=False)


def _change_writer(sink: SinkNode, topic: str) -> Callable[[Any, list[Header]], bytes]:
    write = change_serializer(sink.value, topic)
    return lambda change, headers: write(change[0], change[1], headers)
