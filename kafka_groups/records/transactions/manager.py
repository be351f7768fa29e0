"""The transactions of one producer: its id, what belongs to a transaction, and how it ends (KIP-98, KIP-447, KIP-890).

From level 2 of the feature `transaction.version` on (v2), a transaction begins at the coordinator with its first batch
or its offsets, and each end raises the epoch. Up to level 1 (v1), partitions and offsets are added first.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final
from uuid import UUID

from attrs import frozen

from kafka_groups.client.membership.group_metadata import GroupMetadata
from kafka_groups.client.requests import ClientResponse, OutgoingRequest, PollResult
from kafka_groups.errors import (
    BrokerError,
    IllegalStateError,
    InvalidProducerEpochError,
    KafkaGroupsError,
    ProducerFencedError,
    TransactionFailedError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from kafka_groups.protocol.messages.add_partitions_to_txn import FIRST_OF_BROKERS
from kafka_groups.protocol.messages.end_txn import FIRST_WITH_NEW_EPOCHS, EndTxnRequest, EndTxnResponse
from kafka_groups.protocol.messages.find_coordinator import CoordinatorType
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_groups.protocol.messages.txn_offset_commit import FIRST_THAT_ADDS, FIRST_WITH_TOPIC_IDS
from kafka_groups.records.producing.producer_ids import NO_PRODUCER, ProducerIdAndEpoch
from kafka_groups.records.transactions.answers import Answered, AnswerMeaning, gravest, meaning_of
from kafka_groups.records.transactions.coordinator_channel import (
    ChannelSettings,
    CoordinatorChannel,
    TransactionRequest,
)
from kafka_groups.records.transactions.losses import TransactionLosses, is_final
from kafka_groups.records.transactions.transaction import WriterEvent, WriterState, next_writer_state
from kafka_groups.records.transactions.transaction_contents import PartitionsOfTransaction, TransactionOffsets
from kafka_groups.records.transactions.transaction_messages import (
    adding_partitions,
    codes_of_added,
    codes_of_stored,
    committing_offsets,
)
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = ["BatchesOfTransaction", "TransactionManager", "TransactionOptions"]

_FEATURE: Final = "transaction.version"
_FIRST_OF_V2: Final = 2
_NEWEST_PRODUCE_OF_V1: Final = 11
_NO_IDS: Mapping[TopicPartition, UUID] = MappingProxyType({})

_E, _S = WriterEvent, WriterState


@frozen
class TransactionOptions:
    """The settings of a transactional producer.

    Attributes:
        transactional_id: The id. An older producer with the same one is fenced.
        timeout_ms: When the coordinator aborts a transaction that does not end (`transaction.timeout.ms`).
        features: Returns the finalized features that a broker has told at its newest connection, by node id.
        steady_ms: Returns the time as it passes for coordinators: also while a user's function blocks the event loop,
            in milliseconds.
        topic_id: Returns the id that a topic has now, or None while that is not known.
        principal: Who is not allowed to do something, for messages; None if it is not known here.
    """

    transactional_id: str
    timeout_ms: int
    features: Callable[[int], Mapping[str, int]]
    steady_ms: Callable[[], int]
    topic_id: Callable[[str], UUID | None]
    principal: str | None = None


@frozen
class BatchesOfTransaction:
    """The state of the batches of a producer, as far as its transactions need it.

    Attributes:
        are_flushed: Returns whether no batch is open, waiting or in flight.
        confirmed: Returns how many records were confirmed since the producer was made.
        drop: Drops all records, as the transaction is lost, and those that are written before the producer is renewed.
    """

    are_flushed: Callable[[], bool]
    confirmed: Callable[[], int]
    drop: Callable[[], None]


class TransactionManager:
    """Drives the transactions of one producer. It is the identity of its batches (`ProducerIdentity`).

    Call `attach` before the first request. A transaction begins with the first batch or with `send_offsets`. To end it,
    call `commit` when all records have been given, wait while `is_committing`, and call `conclude`. After an error of
    `check`, call `abort`, wait while `is_aborting`, call `renew`, and prepare it again. At the end of the worker, call
    `close`, and wait while `is_aborting`.

    Args:
        options: The settings of the producer.
        settings: The settings of requests.

    Attributes:
        state: The state of the producer.
    """

    is_transactional = True

    def __init__(self, options: TransactionOptions, settings: ChannelSettings) -> None:
        self._options = options
        self._settings = settings
        self._coordinator = CoordinatorChannel(options.transactional_id, CoordinatorType.TRANSACTION, settings)
        self._group: CoordinatorChannel | None = None
        self._losses = TransactionLosses(options.transactional_id, options.timeout_ms, options.principal)
        self._partitions, self._offsets = PartitionsOfTransaction(), TransactionOffsets()
        self._producer = NO_PRODUCER
        self._is_v2 = False
        self._failure: KafkaGroupsError | None = None
        self._begun_ms: int | None = None
        self._confirmed_before = 0
        self._batches: BatchesOfTransaction | None = None
        self.state = WriterState.UNPREPARED

    def __repr__(self) -> str:
        return f"<TransactionManager {self._options.transactional_id} {self.state.value} {self._producer}>"

    def attach(self, batches: BatchesOfTransaction) -> None:
        """Connect the transactions with the batches of their producer."""
        self._batches = batches

    @property
    def _attached(self) -> BatchesOfTransaction:
        if self._batches is None:
            raise IllegalStateError("The transactions have no batches. Call `attach` first.")
        return self._batches

    # ---------------------------------------------------------------------------------------- identity

    @property
    def producer(self) -> ProducerIdAndEpoch:
        """The id and the epoch, or `NO_PRODUCER` while nothing may be sent."""
        may_send = self.state in (WriterState.READY, WriterState.OPEN, WriterState.COMMITTING)
        return self._producer if may_send else NO_PRODUCER

    @property
    def transactional_id(self) -> str:
        """The transactional id."""
        return self._options.transactional_id

    @property
    def newest_produce_version(self) -> int | None:
        """The newest version of Produce to use: 11 in v1. A newer one adds its partitions to the transaction (v2)."""
        return None if self._is_v2 else _NEWEST_PRODUCE_OF_V1

    def may_produce(self, partition: TopicPartition) -> bool:
        """Return whether a batch of this partition may be sent. In v1, the partition is added to the transaction."""
        if self.producer == NO_PRODUCER:
            return False
        return self._is_v2 or self._partitions.may_produce(partition)

    def note_produced(self, partition: TopicPartition) -> None:
        """Note that a batch was sent: there is a transaction."""
        self._begin()

    def lose(self, error: KafkaGroupsError) -> None:
        """Note an error of a batch after which the transaction cannot be committed."""
        if self.producer != NO_PRODUCER:
            self._lose(error)

    def raise_epoch(self) -> None:
        """Lose the transaction: only InitProducerId gives a transactional producer its next epoch."""
        self.lose(TransactionFailedError("A batch of the transaction is missing, so those after it cannot be written."))

    # ------------------------------------------------------------------------------------------- calls

    @property
    def is_preparing(self) -> bool:
        """True while the coordinator has not given an id."""
        return self.state is WriterState.PREPARING

    @property
    def is_committing(self) -> bool:
        """True while it is not known whether the transaction was committed."""
        return self.state is WriterState.COMMITTING

    @property
    def is_aborting(self) -> bool:
        """True while the coordinator has not confirmed the abort."""
        return self.state is WriterState.ABORTING

    @property
    def has_failed(self) -> bool:
        """True if the transaction is lost, or the producer cannot be used any more."""
        return self.state in (WriterState.LOST, WriterState.UNUSABLE)

    @property
    def are_offsets_stored(self) -> bool:
        """True if the group's coordinator has stored all offsets that were given."""
        return self._offsets.is_complete

    def check(self) -> None:
        """Raise the error after which the transaction cannot be committed.

        Raises:
            TransactionFailedError: The transaction is lost. Abort, renew and prepare.
            KafkaGroupsError: The producer cannot be used any more.
        """
        if self._failure is None:
            return
        if self.state is WriterState.UNUSABLE:
            raise self._failure
        raise TransactionFailedError(f"The transaction failed: {self._failure}") from self._failure

    def prepare(self) -> None:
        """Begin to ask for an id, which fences older producers. Without effect if there is one."""
        self._step(_E.PREPARE)

    def send_offsets(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        who: GroupMetadata,
        topic_ids: Mapping[TopicPartition, UUID] = _NO_IDS,
    ) -> None:
        """Add offsets of a group to the transaction, and send them at once. Repeat it without harm.

        The transaction is lost if the topic of an offset is deleted: the offset must not count for the next topic of
        that name.

        Args:
            offsets: For each partition the offset of the next record to process.
            who: The group, and the member with its present epoch.
            topic_ids: The ids of the topics that the offsets are from. One that is not known is not checked.

        Raises:
            IllegalStateError: The producer is not prepared, or the transaction is being committed with other offsets.
        """
        if not offsets or self.has_failed or self.state is WriterState.COMMITTED:
            return
        if self.state is WriterState.COMMITTING and not self._offsets.has(offsets):
            raise IllegalStateError("The transaction is being committed with other offsets. Commit it with the same.")
        self._begin()
        self._offsets.give(offsets, who, topic_ids)
        if self._group is None or self._group.key != who.group_id:
            self._group = CoordinatorChannel(who.group_id, CoordinatorType.GROUP, self._settings)

    @property
    def expires_soon(self) -> bool:
        """True if the open transaction has lasted for four fifths of its timeout."""
        return 5 * self._open_ms >= 4 * self._options.timeout_ms

    def commit(self) -> None:
        """End the transaction as soon as its batches and offsets are confirmed. An empty one sends nothing."""
        self._step(_E.COMMIT)

    def conclude(self) -> None:
        """Take note that the transaction was committed. The next one may begin."""
        self._step(_E.CONCLUDE)
        self._read_level()  # before the batches ask whether they may be sent, which decides it

    def abort(self) -> None:
        """Begin to abort the transaction if there is one, and this producer may. Otherwise forget the producer."""
        is_over = self.state in (WriterState.COMMITTED, WriterState.ABORTING)
        if self._begun_ms is None or self._is_fenced or is_over:
            self.renew()
            return
        self._give_up_requests()
        self._step(_E.ABORT)

    def close(self) -> None:
        """As `abort`, also if the producer cannot be used any more: its transaction would be open until its timeout."""
        is_unusable = self.state is WriterState.UNUSABLE
        if is_unusable and self._begun_ms is not None and not self._is_fenced:
            self._give_up_requests()
            self._step(_E.CLOSE)
        else:
            self.abort()

    @property
    def _is_fenced(self) -> bool:
        cause = None if self._failure is None else (self._failure.__cause__ or self._failure)
        return isinstance(cause, ProducerFencedError | InvalidProducerEpochError)

    def renew(self) -> None:
        """Forget the producer. It has to be prepared before the next batch."""
        self._step(_E.DROP)
        self._give_up_requests()
        self._forget_transaction()
        if self.state is WriterState.UNPREPARED:
            self._producer, self._failure = NO_PRODUCER, None

    # ------------------------------------------------------------------------------------------ engine

    def poll(self, now_ms: int) -> PollResult:
        """Return what to send now, and when to ask again."""
        self._read_level()
        self._look_at_topics()
        results = [self._coordinator.poll(self._due(), now_ms)]
        if self._group is not None:
            results.append(self._group.poll(self._due_offsets(), now_ms))
        requests = tuple(request for each in results for request in each.requests)
        return PollResult(requests, min(each.wait_ms for each in results))

    def on_response(self, request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Handle the response of a coordinator."""
        channel: CoordinatorChannel = request.context[0]
        channel.on_response(request, answer, now_ms)
        if isinstance(channel.final, BrokerError):
            not_found = Answered(AnswerMeaning.FINAL, ErrorCode(channel.final.code))
            self._fail(self._refusal(ApiKey.FIND_COORDINATOR, not_found))

    def on_failure(self, request: OutgoingRequest, error: Exception, now_ms: int) -> None:
        """Ask again after the back-off. Anything that may have been done is repeated without harm."""
        channel: CoordinatorChannel = request.context[0]
        was_given_up = channel.on_failure(request, error, now_ms)
        if isinstance(error, KafkaGroupsError) and not error.retriable and not was_given_up:
            self._fail(error)

    def _read_level(self) -> None:
        """Choose v1 or v2 for the next transaction. It stays so from its first batch on."""
        node_id = self._coordinator.node_id
        if self.state is not WriterState.READY or node_id is None or self._partitions.next():
            return
        features = self._options.features(node_id)
        if features:  # otherwise there was no connection yet
            self._is_v2 = features.get(_FEATURE, 0) >= _FIRST_OF_V2

    def _look_at_topics(self) -> None:
        """Lose the transaction if one of its offsets is from a topic that was deleted and made again."""
        if self.state not in (WriterState.OPEN, WriterState.COMMITTING):
            return
        place = self._offsets.former(self._options.topic_id)
        if place is not None:
            self._lose(
                UnknownTopicOrPartitionError(
                    f"The topic of {place} was deleted and made again while the transaction was open, so its offset has"
                    " no meaning any more."
                )
            )

    # -------------------------------------------------------------------------------- what is sent next

    def _due(self) -> TransactionRequest | None:
        """Return the next request for the coordinator of the transaction."""
        if self.state is WriterState.PREPARING:
            return self._initialising()
        if self.state is WriterState.ABORTING:
            return self._ending(committed=False)
        if self.state is WriterState.COMMITTING and self._is_complete:
            return self._ending(committed=self._has_content)
        if self.producer == NO_PRODUCER or self._is_v2:
            return None
        return self._adding()

    def _due_offsets(self) -> TransactionRequest | None:
        """Return the next request for the coordinator of the group."""
        missing, who = self._offsets.missing, self._offsets.who
        if self.producer == NO_PRODUCER or not missing or who is None:
            return None
        if not self._is_v2 and self._offsets.added_group != who.group_id:
            return None
        return TransactionRequest(
            ApiKey.TXN_OFFSET_COMMIT,
            committing_offsets(self.transactional_id, self._producer, missing, who, self._offsets.topic_ids),
            lambda answer, now_ms: self._stored(missing, answer, now_ms),
            self._newest_of_offsets(missing),
        )

    def _newest_of_offsets(self, offsets: Iterable[TopicPartition]) -> int:
        """Return the newest version of TxnOffsetCommit to use."""
        if not self._is_v2:
            return FIRST_THAT_ADDS - 1
        # With ids, the coordinator refuses the offset of a topic that was made again even if nobody here has noticed.
        return FIRST_WITH_TOPIC_IDS if self._offsets.topic_ids.keys() >= set(offsets) else FIRST_THAT_ADDS

    @property
    def _is_complete(self) -> bool:
        return self._offsets.is_complete and self._attached.are_flushed()

    @property
    def _has_content(self) -> bool:
        # If all batches were refused, the coordinator need not have heard of the transaction, and would refuse to
        # commit it (v2). To abort nothing is the same, and always possible.
        return self._offsets.has_stored or self._attached.confirmed() > self._confirmed_before

    def _initialising(self) -> TransactionRequest:
        message = InitProducerIdRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=self._options.timeout_ms
        )
        return TransactionRequest(ApiKey.INIT_PRODUCER_ID, message, self._initialised)

    def _adding(self) -> TransactionRequest | None:
        partitions = self._partitions.next()
        if partitions:
            self._begin()  # the coordinator does, with this request
            message = adding_partitions(self.transactional_id, self._producer, partitions)
            return TransactionRequest(
                ApiKey.ADD_PARTITIONS_TO_TXN, message, self._added_partitions, FIRST_OF_BROKERS - 1
            )
        group = None if self._group is None else self._group.key
        # A producer that has committed offsets of a group will do it again. If its offsets are added when the
        # transaction begins, the commit need not wait for that.
        is_due = bool(self._offsets.missing) or self.state is WriterState.OPEN
        return None if group is None or group == self._offsets.added_group or not is_due else self._adding_group(group)

    def _adding_group(self, group: str) -> TransactionRequest:
        message = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self._producer.producer_id,
            producer_epoch=self._producer.epoch,
            group_id=group,
        )
        on_answer = lambda answer, now_ms: self._added_offsets(group, answer, now_ms)  # noqa: E731
        return TransactionRequest(ApiKey.ADD_OFFSETS_TO_TXN, message, on_answer)

    def _ending(self, *, committed: bool) -> TransactionRequest:
        message = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self._producer.producer_id,
            producer_epoch=self._producer.epoch,
            committed=committed,
        )
        newest = None if self._is_v2 else FIRST_WITH_NEW_EPOCHS - 1
        on_answer = lambda answer, now_ms: self._ended(message, answer, now_ms)  # noqa: E731
        return TransactionRequest(ApiKey.END_TXN, message, on_answer, newest)

    # --------------------------------------------------------------------------------------- responses

    def _initialised(self, answer: ClientResponse, now_ms: int) -> None:
        response: InitProducerIdResponse = answer.message
        if self._is_done(ApiKey.INIT_PRODUCER_ID, response.error_code, now_ms):
            self._step(_E.INITIALISED)
            self._read_level()
            self._producer = ProducerIdAndEpoch(response.producer_id, response.producer_epoch)

    def _added_partitions(self, answer: ClientResponse, now_ms: int) -> None:
        codes = codes_of_added(answer.message)
        answered = gravest(ApiKey.ADD_PARTITIONS_TO_TXN, codes, self.state)
        if self._goes_on(self._coordinator, ApiKey.ADD_PARTITIONS_TO_TXN, answered, now_ms):
            self._partitions.answered(codes)

    def _added_offsets(self, group: str, answer: ClientResponse, now_ms: int) -> None:
        response: AddOffsetsToTxnResponse = answer.message
        if self._is_done(ApiKey.ADD_OFFSETS_TO_TXN, response.error_code, now_ms):
            self._offsets.added_group = group

    def _stored(self, sent: Mapping[TopicPartition, OffsetAndMetadata], answer: ClientResponse, now_ms: int) -> None:
        codes = codes_of_stored(answer.message, self._offsets.topic_ids)
        answered = gravest(ApiKey.TXN_OFFSET_COMMIT, codes, self.state)
        if self._group is not None and self._goes_on(self._group, ApiKey.TXN_OFFSET_COMMIT, answered, now_ms):
            self._offsets.stored(sent, (each for each, code in codes.items() if code is ErrorCode.NONE))

    def _ended(self, request: EndTxnRequest, answer: ClientResponse, now_ms: int) -> None:
        response: EndTxnResponse = answer.message
        is_void = self.state is WriterState.COMMITTING and not request.committed
        code = response.error_code
        if is_void and code is ErrorCode.INVALID_TXN_STATE:
            code = ErrorCode.NONE  # the coordinator has not heard of the transaction, in which there is nothing
        if not self._is_done(ApiKey.END_TXN, code, now_ms):
            return
        self._step(_E.ENDED)
        self._forget_transaction()
        if self.state is WriterState.COMMITTED:
            self._committed(request, response)

    def _committed(self, request: EndTxnRequest, response: EndTxnResponse) -> None:
        if request.committed:
            self._losses.committed()
        # Versions before 5 do not say anything about the epoch, which has not changed.
        if response.producer_epoch >= 0:
            self._producer = ProducerIdAndEpoch(response.producer_id, response.producer_epoch)

    def _is_done(self, api: ApiKey, code: ErrorCode, now_ms: int) -> bool:
        answered = Answered(meaning_of(api, code, self.state), code)
        goes_on = self._goes_on(self._coordinator, api, answered, now_ms)
        return goes_on and answered.meaning is AnswerMeaning.DONE

    def _goes_on(self, channel: CoordinatorChannel, api: ApiKey, answered: Answered, now_ms: int) -> bool:
        """Do what an answer demands, and return whether the producer is still as it was."""
        channel.note(answered.meaning, now_ms)
        if answered.meaning is AnswerMeaning.LOST:
            self._lose(self._refusal(api, answered))
        elif answered.meaning is AnswerMeaning.FINAL:
            self._fail(self._refusal(api, answered))
        return answered.meaning < AnswerMeaning.LOST

    def _refusal(self, api: ApiKey, answered: Answered) -> BrokerError:
        return self._losses.refusal(api, answered, None if self._offsets.who is None else self._offsets.who.group_id)

    # ----------------------------------------------------------------------------------------- changes

    def _step(self, event: WriterEvent) -> None:
        self.state = next_writer_state(self.state, event)

    def _begin(self) -> None:
        is_first = self.state is WriterState.READY
        self._step(_E.BEGIN)
        if is_first:
            self._begun_ms = self._options.steady_ms()
            self._confirmed_before = self._attached.confirmed()

    def _forget_transaction(self) -> None:
        self._partitions.clear()
        self._offsets.clear()
        self._begun_ms = None

    def _give_up_requests(self) -> None:
        for channel in (self._coordinator, self._group):
            if channel is not None:
                channel.give_up()

    def _lose(self, error: KafkaGroupsError) -> None:
        if is_final(error):
            self._fail(error)
            return
        self._step(_E.LOSE)
        if self.state is WriterState.LOST and self._failure is None:
            self._failure = self._losses.explained(error, self._open_ms)
            self._attached.drop()
            self._end_if_fenced_too_often(self._failure)

    @property
    def _open_ms(self) -> int:
        return 0 if self._begun_ms is None else self._options.steady_ms() - self._begun_ms

    def _end_if_fenced_too_often(self, error: KafkaGroupsError) -> None:
        final = self._losses.fenced_too_often(error)
        if final is not None:
            self._fail(final)

    def _fail(self, error: KafkaGroupsError) -> None:
        if self.state is not WriterState.UNUSABLE:
            self._step(_E.FAIL)
            self._failure = error
            self._attached.drop()
