"""Questions about transactional ids and producers of partitions: list, describe, fence, abort (KIP-664, KIP-588)."""

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from kafka_groups.admin.rules.topics import brokers_of_cluster
from kafka_groups.admin.rules.transaction_values import (
    FencedProducer,
    PartitionProducer,
    TransactionDescription,
    TransactionList,
    TransactionListing,
)
from kafka_groups.client.calls.partition_offsets import by_topic
from kafka_groups.client.calls.questions import LEADERS, TRANSACTION_COORDINATORS, Answer, Asking, Question, told
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import ConfigurationError, InvalidTxnStateError, UnsupportedVersionError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.describe_producers import (
    ActiveProducer,
    DescribeProducersRequest,
    DescribeProducersRequestTopic,
    DescribeProducersResponse,
)
from kafka_groups.protocol.messages.describe_transactions import (
    DescribedTransaction,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_groups.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from kafka_groups.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafka_groups.types import TopicPartition

__all__ = [
    "TransactionFilter",
    "abort_transaction",
    "describe_producers",
    "describe_transactions",
    "fence_producer",
    "list_transactions",
]

_FIRST_WITH_DURATION, _FIRST_WITH_PATTERN = 1, 2
_FENCING_TIMEOUT_MS = 60_000
"""The transaction timeout that the id has until its next producer begins; 60 s is the default of Kafka's producers."""


@frozen
class TransactionFilter:
    """The limits of a list of transactional ids.

    Attributes:
        states: States; none for all.
        producer_ids: Producers; none for all.
        open_for_ms: Only transactions that have been open for longer, in milliseconds; -1 for all.
        pattern: A regular expression that whole ids match; None for all.
    """

    states: tuple[str, ...]
    producer_ids: tuple[int, ...]
    open_for_ms: int
    pattern: str | None

    def request(self, version: int) -> ListTransactionsRequest:
        """Return the request in a version.

        Raises:
            UnsupportedVersionError: The version lacks one of the filters: without it, too much would be listed.
        """
        if self.open_for_ms >= 0 and version < _FIRST_WITH_DURATION:
            raise UnsupportedVersionError(f"ListTransactions v{version} cannot filter by duration (open_for_ms).")
        if self.pattern is not None and version < _FIRST_WITH_PATTERN:
            raise UnsupportedVersionError(f"ListTransactions v{version} cannot filter by id (pattern).")
        return ListTransactionsRequest(
            state_filters=self.states,
            producer_id_filters=self.producer_ids,
            duration_filter=self.open_for_ms,
            transactional_id_pattern=self.pattern,
        )


async def list_transactions(ask: Asking, wanted: TransactionFilter) -> TransactionList:
    """Ask every broker for the transactional ids that it coordinates.

    Raises:
        ConfigurationError: There is no such state.
    """
    nodes = await brokers_of_cluster(ask)
    places = {node: node for node in nodes}
    results = await ask(
        Question(
            "list the transactions",
            ApiKey.LIST_TRANSACTIONS,
            nodes,
            lambda _keys, version: wanted.request(version),
            _listed,
            places=places,
        )
    )
    unknown = sorted({state for response in results.values.values() for state in response.unknown_state_filters})
    if unknown:
        raise ConfigurationError(f"states={unknown}: the brokers have no such states of transactions.")
    found = (
        TransactionListing(each.transactional_id, each.producer_id, each.transaction_state)
        for response in results.values.values()
        for each in response.transaction_states
    )
    return TransactionList(tuple(sorted(found, key=lambda each: each.transactional_id)), results.errors)


def _listed(keys: Sequence[int], response: ListTransactionsResponse) -> Mapping[int, Answer[ListTransactionsResponse]]:
    return {key: told(response.error_code, None, response) for key in keys}


async def describe_transactions(ask: Asking, transactional_ids: Iterable[str]) -> Results[str, TransactionDescription]:
    """Ask the coordinators for transactional ids."""
    keys = tuple(dict.fromkeys(transactional_ids))
    return await ask(
        Question(
            "describe the transactional id",
            ApiKey.DESCRIBE_TRANSACTIONS,
            keys,
            lambda keys, _version: DescribeTransactionsRequest(transactional_ids=tuple(keys)),
            _described,
            TRANSACTION_COORDINATORS,
        )
    )


def _described(
    _keys: Sequence[str], response: DescribeTransactionsResponse
) -> Mapping[str, Answer[TransactionDescription]]:
    return {
        each.transactional_id: told(
            each.error_code, f"{each.error_code.name}: {each.transactional_id}", _description_of(each)
        )
        for each in response.transaction_states
    }


def _description_of(found: DescribedTransaction) -> TransactionDescription:
    return TransactionDescription(
        transactional_id=found.transactional_id,
        state=found.transaction_state,
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        timeout_ms=found.transaction_timeout_ms,
        start_ms=_known(found.transaction_start_time_ms),
        partitions=tuple(TopicPartition(topic.topic, number) for topic in found.topics for number in topic.partitions),
    )


async def describe_producers(
    ask: Asking, partitions: Iterable[TopicPartition]
) -> Results[TopicPartition, tuple[PartitionProducer, ...]]:
    """Ask the leaders of partitions for the producers that they remember."""

    def build(keys: Sequence[TopicPartition], _version: int) -> DescribeProducersRequest:
        topics = (
            DescribeProducersRequestTopic(name=name, partition_indexes=tuple(numbers))
            for name, numbers in by_topic(keys).items()
        )
        return DescribeProducersRequest(topics=tuple(topics))

    keys = tuple(dict.fromkeys(partitions))
    return await ask(Question("describe the producers of", ApiKey.DESCRIBE_PRODUCERS, keys, build, _producers, LEADERS))


def _producers(
    _keys: Sequence[TopicPartition], response: DescribeProducersResponse
) -> Mapping[TopicPartition, Answer[tuple[PartitionProducer, ...]]]:
    return {
        (key := TopicPartition(topic.name, each.partition_index)): told(
            each.error_code,
            each.error_message or f"{each.error_code.name}: {key}",
            tuple(map(_producer_of, each.active_producers)),
        )
        for topic in response.topics
        for each in topic.partitions
    }


def _producer_of(found: ActiveProducer) -> PartitionProducer:
    return PartitionProducer(
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        last_sequence=_known(found.last_sequence),
        last_timestamp_ms=_known(found.last_timestamp),
        coordinator_epoch=_known(found.coordinator_epoch),
        transaction_start_offset=_known(found.current_txn_start_offset),
    )


def _known(number: int) -> int | None:
    return None if number < 0 else number


async def fence_producer(ask: Asking, transactional_id: str) -> Results[str, FencedProducer]:
    """Take a new epoch for a transactional id. A request has only one id."""
    # InitProducerId without a producer id raises the epoch, which fences every producer that has the id now
    # (FenceProducersHandler in Java does the same).
    return await ask(_fencing(transactional_id))


def _fencing(transactional_id: str) -> Question[str, FencedProducer]:
    def read(keys: Sequence[str], response: InitProducerIdResponse) -> Mapping[str, Answer[FencedProducer]]:
        producer = FencedProducer(response.producer_id, response.producer_epoch)
        return {key: told(response.error_code, f"{response.error_code.name}: {key}", producer) for key in keys}

    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=_FENCING_TIMEOUT_MS)
    return Question(
        "fence the producers of",
        ApiKey.INIT_PRODUCER_ID,
        (transactional_id,),
        lambda _keys, _version: request,
        read,
        TRANSACTION_COORDINATORS,
    )


async def abort_transaction(ask: Asking, partition: TopicPartition, start_offset: int) -> None:
    """Have the leader of a partition end a transaction that no coordinator knows any more.

    Raises:
        InvalidTxnStateError: No open transaction begins at the offset.
        KafkaGroupsError: The leader did not answer, or refused.
    """
    known = (await describe_producers(ask, [partition]))[partition]
    found = [each for each in known if each.transaction_start_offset == start_offset]
    # The leader would write the marker for any producer. Only one with an open transaction at this offset is what the
    # caller means (KIP-664).
    if not found:
        offsets = sorted(each.transaction_start_offset for each in known if each.transaction_start_offset is not None)
        raise InvalidTxnStateError(
            f"No open transaction begins at offset {start_offset} of {partition}. Open ones begin at {offsets}."
        )
    (await ask(_abortion(partition, found[0])))[partition]  # raises the partition's error


def _abortion(partition: TopicPartition, producer: PartitionProducer) -> Question[TopicPartition, None]:
    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        topics=(WritableTxnMarkerTopic(name=partition.topic, partition_indexes=(partition.partition,)),),
        # A partition refuses markers with an older coordinator epoch than the last one. Without any marker yet, 0 is
        # the lowest that it accepts.
        coordinator_epoch=producer.coordinator_epoch or 0,
    )
    request = WriteTxnMarkersRequest(markers=(marker,))
    return Question(
        "abort the transaction in",
        ApiKey.WRITE_TXN_MARKERS,
        (partition,),
        lambda _keys, _version: request,
        _aborted,
        LEADERS,
    )


def _aborted(
    _keys: Sequence[TopicPartition], response: WriteTxnMarkersResponse
) -> Mapping[TopicPartition, Answer[None]]:
    return {
        (key := TopicPartition(topic.name, each.partition_index)): told(
            each.error_code, f"{each.error_code.name}: {key}", None
        )
        for marker in response.markers
        for topic in marker.topics
        for each in topic.partitions
    }
