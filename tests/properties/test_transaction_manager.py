"""Transactions of a producer against a naive coordinator and log.

Requests and answers are lost or come late, coordinators move, others fence the producer, transactions time out, epochs
are used up, and the feature is raised. A record is the number of an input. The offset of the input is committed with
the records, so at any time exactly the records before the committed offset may be seen.
"""

import random
from collections import deque
from collections.abc import Mapping
from typing import Any

import pytest
from attrs import define, field, frozen
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.membership.group_metadata import AsMember, GroupMetadata
from kafka_groups.client.metadata import Metadata
from kafka_groups.client.requests import ClientResponse, OutgoingRequest
from kafka_groups.errors import (
    DisconnectedError,
    InvalidTxnStateError,
    KafkaGroupsError,
    ProducerFencedError,
    error_for,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.end_txn import EndTxnResponse
from kafka_groups.protocol.messages.find_coordinator import CoordinatorType
from kafka_groups.records.producing.producer_ids import NO_PRODUCER, ProducerIdAndEpoch
from kafka_groups.records.transactions import answers, manager
from kafka_groups.records.transactions.answers import AnswerMeaning
from kafka_groups.records.transactions.coordinator_channel import ChannelSettings, CoordinatorChannel
from kafka_groups.records.transactions.manager import BatchesOfTransaction, TransactionManager, TransactionOptions
from kafka_groups.records.transactions.transaction import WriterState
from kafka_groups.records.transactions.transaction_contents import PartitionsOfTransaction, TransactionOffsets
from kafka_groups.records.transactions.transaction_messages import codes_of_stored
from kafka_groups.types import OffsetAndMetadata, TopicPartition
from tests.support.naive_transactions import FORBIDDEN, TOO_SMALL, Batch, NaiveCluster
from tests.support.planted_defects import Patch, Plant, by_name

INPUT = TopicPartition("in", 0)
OUTPUTS = (TopicPartition("out", 0), TopicPartition("out", 1))
ALL_OUTPUTS = (*OUTPUTS, FORBIDDEN, TOO_SMALL)
TIMEOUT_MS = 10_000
WHO = GroupMetadata("group", AsMember("member", 1))
RNG = random.Random(1)
RNG = random.Random(1)
SETTINGS = ChannelSettings(Metadata(), 30_000, lambda: BackoffTimer(100, 1_000, RNG), RNG)
NEWEST_PRODUCE = 13
LAST_ROUNDS = 3_000
FATES = ("answered",) * 6 + ("answer lost", "answer on its way", "lost", "late")
EVENTS = (
    "arrive_late", "renew_and_wait", "renew_at_once", "write_markers", "move_transactions", "move_group", "start_other",
    "time_out", "raise_feature", "connect_again", "arrive_late", "write_what_is_refused", "write_what_is_refused",
)  # fmt: skip

_C, _S = ErrorCode, WriterState


@define(eq=False)
class Batches:
    """The batches of the producer: one in flight for each partition, repeated until there is an answer."""

    manager: TransactionManager
    queued: dict[TopicPartition, deque[int]] = field(factory=lambda: {each: deque() for each in ALL_OUTPUTS})
    in_flight: dict[TopicPartition, Batch | None] = field(factory=lambda: dict.fromkeys(ALL_OUTPUTS))
    unanswered: dict[TopicPartition, Batch] = field(factory=dict)
    producer: ProducerIdAndEpoch = NO_PRODUCER
    sequences: dict[TopicPartition, int] = field(factory=dict)
    confirmed: int = 0

    def attach(self) -> None:
        self.manager.attach(BatchesOfTransaction(lambda: self.is_flushed, lambda: self.confirmed, self.drop))

    @property
    def is_flushed(self) -> bool:
        return not self.unanswered and not any(self.queued.values())

    def drop(self) -> None:
        self.unanswered.clear()
        self.in_flight = dict.fromkeys(ALL_OUTPUTS)
        self.queued = {each: deque() for each in ALL_OUTPUTS}

    def due(self) -> list[tuple[Batch, int]]:
        """The batches to send now, with the version of Produce."""
        return [sent for partition in ALL_OUTPUTS for sent in self._due(partition)]

    def _due(self, partition: TopicPartition) -> list[tuple[Batch, int]]:
        if self.in_flight[partition] is not None or self.manager.producer == NO_PRODUCER:
            return []
        if partition not in self.unanswered and self.queued[partition]:
            if not self.manager.may_produce(partition):
                return []
            if self.producer != self.manager.producer:
                self.producer = self.manager.producer
                self.sequences.clear()
            values = tuple(self.queued[partition])
            self.queued[partition].clear()
            sequence = self.sequences.get(partition, 0)
            self.unanswered[partition] = Batch(self.manager.producer, sequence, partition, values)
        if partition not in self.unanswered:
            return []
        batch = self.in_flight[partition] = self.unanswered[partition]
        self.manager.note_produced(partition)
        return [(batch, self.manager.newest_produce_version or NEWEST_PRODUCE)]

    def answered(self, batch: Batch, code: ErrorCode | None) -> None:
        """An answer has come, or None: there is none."""
        if self.in_flight[batch.partition] is not batch:
            return  # of a producer before
        self.in_flight[batch.partition] = None
        if code in (_C.NONE, _C.DUPLICATE_SEQUENCE_NUMBER):
            self.confirmed += len(batch.values)
            self.sequences[batch.partition] = batch.sequence + len(batch.values)
            del self.unanswered[batch.partition]
        elif code in (_C.TOPIC_AUTHORIZATION_FAILED, _C.MESSAGE_TOO_LARGE):
            del self.unanswered[batch.partition]  # a handler has decided to leave the records out
        elif code is not None and code is not _C.CONCURRENT_TRANSACTIONS:
            self.manager.lose(error_for(code))


@frozen
class Answer:
    """An answer that is on its way."""

    request: OutgoingRequest
    answer: ClientResponse


class World:
    """An application that writes each input once, its cluster, and what is on the way between them."""

    def __init__(self, level: int) -> None:
        self.cluster = NaiveCluster(level)
        self.seen_level = level
        self.now_ms = 0
        self.flying: list[tuple[OutgoingRequest | Batch, int]] = []
        self.late: list[tuple[int | None, Any, int]] = []
        self.reported = self.next_input = 0
        self.is_ending, self.is_beginning = False, True
        self.start()

    def start(self) -> None:
        """A process begins."""
        options = TransactionOptions("app", TIMEOUT_MS, self.features, lambda: self.now_ms, lambda _: None)
        self.manager = TransactionManager(options, SETTINGS)
        self.batches = Batches(self.manager)
        self.batches.attach()
        self.is_ending, self.is_beginning = False, True
        self.manager.prepare()
        self.turn()

    def features(self, _node_id: int) -> Mapping[str, int]:
        return {"metadata.version": 20, "transaction.version": self.seen_level}

    # ------------------------------------------------------------------------------------ the application

    def write(self, output: TopicPartition) -> None:
        if self.manager.state in (_S.READY, _S.OPEN) and not self.is_ending and not self.is_beginning:
            self.batches.queued[output].append(self.next_input)
            self.next_input += 1

    def write_what_is_refused(self) -> None:
        if self.manager.state in (_S.READY, _S.OPEN) and not self.is_ending and not self.is_beginning:
            self.batches.queued[FORBIDDEN if self.now_ms % 200 else TOO_SMALL].append(-1)

    def give_offsets(self) -> None:
        if self.manager.state in (_S.READY, _S.OPEN) and not self.is_beginning:
            self.is_ending = True
            self.manager.send_offsets({INPUT: OffsetAndMetadata(self.next_input, metadata="m")}, WHO)

    def commit(self) -> None:
        if self.manager.state in (_S.READY, _S.OPEN, _S.COMMITTING) and not self.is_beginning:
            if self.next_input > self.reported:
                self.give_offsets()
            self.manager.commit()

    def conclude(self) -> None:
        """Hear of a commit, or begin again after a loss."""
        if self.manager.state is _S.COMMITTED:
            self.manager.conclude()
            self.reported, self.is_ending = self.next_input, False
        elif self.manager.state is _S.READY and self.next_input < self.reported:
            raise AssertionError("the inputs of a commit that was reported come again")
        elif self.manager.has_failed:
            with pytest.raises(KafkaGroupsError) as raised:
                self.manager.check()
            assert not isinstance(raised.value.__cause__, InvalidTxnStateError)  # it has asked for what cannot be
            self.renew(waits=False)

    def renew(self, *, waits: bool) -> None:
        """Drop the producer, and begin again at the committed offset once there is another one."""
        if self.manager.state is _S.UNUSABLE:
            with pytest.raises(ProducerFencedError):
                self.manager.check()
            self.start()
        self.batches.drop()
        self.manager.abort()
        if waits and self.manager.is_aborting:
            return
        self.begin_again()

    def begin_again(self) -> None:
        self.manager.renew()
        self.manager.prepare()
        self.is_beginning = True  # nothing is written before the offsets are known

    def read_offsets(self) -> None:
        """Read the committed offset, as tasks that begin do, as soon as there is a producer."""
        if self.manager.state is _S.UNPREPARED:
            self.begin_again()
        if self.manager.state is _S.READY and self.is_beginning:
            self.next_input = self.cluster.offsets.get(INPUT, 0)
            assert self.next_input >= self.reported
            self.reported, self.is_ending, self.is_beginning = self.next_input, False, False

    # ------------------------------------------------------------------------------------------ the way

    def turn(self) -> None:
        """One turn of the engine, and of the application."""
        self.conclude()
        self.read_offsets()
        self.flying += self.batches.due()
        self.flying += [(request, 0) for request in self.manager.poll(self.now_ms).requests]

    def deliver(self, index: int, fate: str) -> None:
        sent, version = self.flying.pop(min(index, len(self.flying) - 1))
        if isinstance(sent, Batch):
            self._deliver_batch(sent, version, fate)
        else:
            self._deliver_request(sent, fate)
        self.turn()

    def _deliver_batch(self, batch: Batch, version: int, fate: str) -> None:
        if fate == "late":
            self.late.append((None, batch, version))
        arrives = fate.startswith("answer")
        code = self.cluster.produce(batch, version, self.now_ms) if arrives else None
        self.batches.answered(batch, code if fate == "answered" else None)

    def _deliver_request(self, request: OutgoingRequest, fate: str) -> None:
        newest = 6 if request.api.name == "FIND_COORDINATOR" else 5
        version = newest if request.newest_version is None else min(newest, request.newest_version)
        message = request.build(version)
        # Up to level 1, a late request may end or change the next transaction, which has the same epoch (KIP-890).
        if fate == "late" and version >= 5:
            self.late.append((request.node_id, message, version))
        if fate in ("lost", "late"):
            self.manager.on_failure(request, DisconnectedError("lost"), self.now_ms)
            return
        answer = ClientResponse(self.cluster.answer(request.node_id, message, version, self.now_ms), version, 1)
        if fate == "answered":
            self.manager.on_response(request, answer, self.now_ms)
        elif fate == "answer on its way":
            self.late.append((None, Answer(request, answer), 0))
        else:
            self.manager.on_failure(request, DisconnectedError("lost"), self.now_ms)

    def go_on(self, count: int, index: int = 0) -> None:
        """Deliver without faults, in the order of the requests or the other way round."""
        for _ in range(count):
            if self.flying:
                self.deliver(index, "answered")
            else:
                self.cluster.write_markers()
                self.now_ms += 100
                self.turn()

    # ------------------------------------------------------------------------------------------ the events

    def renew_and_wait(self) -> None:
        self.renew(waits=True)

    def renew_at_once(self) -> None:
        self.renew(waits=False)

    def write_markers(self) -> None:
        self.cluster.write_markers()

    def move_transactions(self) -> None:
        self.cluster.nodes[CoordinatorType.TRANSACTION] ^= 3

    def move_group(self) -> None:
        self.cluster.nodes[CoordinatorType.GROUP] ^= 3

    def start_other(self) -> None:
        self.cluster.start_other(self.now_ms)

    def time_out(self) -> None:
        self.now_ms += TIMEOUT_MS + 1
        self.cluster.time_out(self.now_ms)

    def raise_feature(self) -> None:
        self.cluster.level = 2

    def connect_again(self) -> None:
        self.seen_level = self.cluster.level

    def arrive_late(self) -> None:
        if not self.late:
            return
        node_id, message, version = self.late.pop(0)
        if isinstance(message, Answer):
            self.manager.on_response(message.request, message.answer, self.now_ms)
        elif isinstance(message, Batch):
            self.cluster.produce(message, version, self.now_ms)
        else:
            self.cluster.answer(node_id, message, version, self.now_ms)

    # --------------------------------------------------------------------------------------- what is true

    def check(self) -> None:
        """Exactly the records before the committed offset are seen, each once, and what was reported is there."""
        offset = self.cluster.offsets.get(INPUT, 0)
        assert sorted(self.cluster.committed) == list(range(offset))
        assert offset >= self.reported or self.cluster.id.state == "PrepareCommit"

    def finish(self) -> None:
        """Without faults, everything that is written is committed."""
        while self.late:
            self.arrive_late()
            self.turn()
        for _ in range(3):
            self._commit_one()

    def _commit_one(self) -> None:
        wanted = None
        for _ in range(LAST_ROUNDS):
            self.cluster.write_markers()
            self.check()
            if self.manager.state is _S.READY and not (self.is_ending or self.is_beginning) and wanted is None:
                self.write(OUTPUTS[0])
                wanted = self.next_input
            elif self.manager.state is _S.OPEN or self.is_ending:
                self.commit()
            if self.flying:
                self.deliver(0, "answered")
            else:
                self.now_ms += 20
                self.turn()
            if wanted is not None and self.reported >= wanted:
                return
            if self.manager.state is _S.PREPARING:
                wanted = None
        raise AssertionError(f"nothing is committed any more: {self.manager}, {self.flying}")


class TransactionMachine(RuleBasedStateMachine):
    """What may happen, in any order."""

    @initialize(level=st.sampled_from((0, 2, 2)))
    def begin(self, level: int) -> None:
        self.world = World(level)
        self.world.go_on(10)

    @rule(output=st.sampled_from(OUTPUTS), count=st.integers(1, 3), arrives=st.booleans())
    def write(self, output: TopicPartition, count: int, *, arrives: bool) -> None:
        for _ in range(count):
            self.world.write(output)
        self.world.turn()
        self.world.go_on(2 * arrives)

    @rule()
    def give_offsets(self) -> None:
        self.world.give_offsets()
        self.world.turn()

    @rule(count=st.sampled_from((0, 1, 2, 10)), index=st.sampled_from((0, 0, 9)))
    def commit(self, count: int, index: int) -> None:
        self.world.commit()
        self.world.turn()
        self.world.go_on(count, index)

    @rule(index=st.integers(0, 3), fate=st.sampled_from(FATES))
    def deliver(self, index: int, fate: str) -> None:
        if self.world.flying:
            self.world.deliver(index, fate)

    @rule(count=st.sampled_from((1, 3, 10)), index=st.sampled_from((0, 0, 9)))
    def go_on(self, count: int, index: int) -> None:
        self.world.go_on(count, index)

    @rule(events=st.lists(st.sampled_from(EVENTS), min_size=1, max_size=2))
    def disturb(self, events: list[str]) -> None:
        for event in events:
            getattr(self.world, event)()
        self.world.turn()

    @invariant()
    def is_exact(self) -> None:
        if hasattr(self, "world"):
            self.world.check()

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.finish()


TransactionMachine.TestCase.settings = settings(max_examples=settings().max_examples, stateful_step_count=40)
TestTransactions = TransactionMachine.TestCase


# ------------------------------------------------------------------------------------- planted defects


def commits_do_not_wait_for_batches(patch: Patch) -> None:
    patch.setattr(TransactionManager, "_is_complete", property(lambda self: self.are_offsets_stored))


def commits_do_not_wait_for_offsets(patch: Patch) -> None:
    patch.setattr(TransactionManager, "_is_complete", property(lambda self: self._attached.are_flushed()))


def ends_without_an_answer_count(patch: Patch) -> None:
    on_failure = TransactionManager.on_failure

    def end_well(self: TransactionManager, request: OutgoingRequest, error: Exception, now_ms: int) -> None:
        if request.api.name == "END_TXN" and self.state is WriterState.COMMITTING:
            answer = ClientResponse(EndTxnResponse(), 4, 1)
            self.on_response(request, answer, now_ms)
        else:
            on_failure(self, request, error, now_ms)

    patch.setattr(TransactionManager, "on_failure", end_well)


def partitions_are_not_added(patch: Patch) -> None:
    patch.setattr(PartitionsOfTransaction, "may_produce", lambda _self, _partition: True)


def offsets_are_not_added(patch: Patch) -> None:
    clear = TransactionOffsets.clear

    def clear_to_added(self: TransactionOffsets) -> None:
        clear(self)
        self.added_group = WHO.group_id

    patch.setattr(TransactionOffsets, "clear", clear_to_added)


def transactions_without_records_are_committed(patch: Patch) -> None:
    patch.setattr(TransactionManager, "_has_content", True)


def answers_of_earlier_transactions_count(patch: Patch) -> None:
    def on_response(self: CoordinatorChannel, request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        sent = request.context[1]
        if sent is None:
            self._finder.on_response(request, answer, now_ms)
        else:
            self._in_flight = None
            sent.on_answer(answer, now_ms)

    patch.setattr(CoordinatorChannel, "on_response", on_response)


def offsets_of_lost_transactions_count(patch: Patch) -> None:
    def clear(self: TransactionOffsets) -> None:
        self.added_group = None

    patch.setattr(TransactionOffsets, "clear", clear)


def partitions_stay_added(patch: Patch) -> None:
    patch.setattr(PartitionsOfTransaction, "clear", lambda _self: None)


def coordinators_are_not_found_again(patch: Patch) -> None:
    note = CoordinatorChannel.note

    def repeat(self: CoordinatorChannel, meaning: AnswerMeaning, now_ms: int) -> None:
        note(self, AnswerMeaning.REPEAT if meaning is AnswerMeaning.FIND else meaning, now_ms)

    patch.setattr(CoordinatorChannel, "note", repeat)


def refused_ends_count(patch: Patch) -> None:
    meaning_of = answers.meaning_of

    def done(api: ApiKey, code: ErrorCode, state: WriterState) -> AnswerMeaning:
        meaning = meaning_of(api, code, state)
        return AnswerMeaning.DONE if api is ApiKey.END_TXN and meaning is AnswerMeaning.LOST else meaning

    patch.setattr(manager, "meaning_of", done)


def refused_offsets_count(patch: Patch) -> None:
    patch.setattr(manager, "codes_of_stored", lambda *answer: dict.fromkeys(codes_of_stored(*answer), ErrorCode.NONE))


DEFECTS = by_name(
    commits_do_not_wait_for_batches,
    commits_do_not_wait_for_offsets,
    ends_without_an_answer_count,
    partitions_are_not_added,
    offsets_are_not_added,
    transactions_without_records_are_committed,
    answers_of_earlier_transactions_count,
    offsets_of_lost_transactions_count,
    partitions_stay_added,
    coordinators_are_not_found_again,
    refused_ends_count,
    refused_offsets_count,
)


def random_run(seed: int) -> None:
    """The same without hypothesis, which takes ten times as long for each step."""
    rng = random.Random(seed)
    world = World(rng.choice((0, 2)))
    world.go_on(10)
    for _ in range(60):
        _step(world, rng)
        world.check()
    world.finish()


def _step(world: World, rng: random.Random) -> None:
    what = rng.random()
    if what < 0.25:
        world.write(rng.choice(OUTPUTS))
    elif what < 0.35:
        world.commit()
    elif what < 0.9:
        if world.flying:
            world.deliver(rng.choice((0, 0, 1, 9)), rng.choice(FATES))
        else:
            world.go_on(1)
    else:
        getattr(world, rng.choice(EVENTS))()
    world.turn()


@pytest.mark.parametrize("seed", [*range(20), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(20, 400))])
def test_random_runs(seed: int) -> None:
    random_run(seed)


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS.values(), ids=DEFECTS.keys())
def test_planted_defects_are_found(defect: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    defect(monkeypatch)
    with pytest.raises((AssertionError, KafkaGroupsError)):
        _run_many(3_000)


def _run_many(count: int) -> None:
    for seed in range(count):
        random_run(seed)
