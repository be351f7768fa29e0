"""The ledger of a group: what it finds wrong in single frames. The planted defects of tests/simulation try the rest."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from kafka_groups.config.cluster.share_group import ShareGroupConfig
from kafka_groups.net.memory import Link
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.protocol.messages.share_fetch import (
    INITIAL_EPOCH,
    AcquiredRecords,
    ShareFetchableTopicResponse,
    ShareFetchPartition,
    ShareFetchPartitionData,
    ShareFetchRequest,
    ShareFetchResponse,
    ShareFetchTopic,
    ShareForgottenTopic,
)
from kafka_groups.testing.clock import VirtualClock
from kafka_groups.testing.simulation.checks.ledger import GroupLedger, SentRequest
from kafka_groups.testing.simulation.virtual_time import VirtualTimeLoop
from kafka_groups.types import AcknowledgeType, TopicIdPartition

TOPIC = UUID(int=7)
PARTITION = TopicIdPartition(TOPIC, 0)
PLACE = (PARTITION, 3)
LOCK_MS, LIMIT = 1000, 3
NOTHING = ShareFetchPartitionData(partition_index=0)


class Wire:
    """Sends the frames of members for the record at offset 3, and moves the time."""

    def __init__(self, auto_offset_reset: str = "earliest") -> None:
        self.loop = VirtualTimeLoop()
        self.connections = {"anna": 1, "bert": 2}
        self.open = {1, 2}
        self._clock = VirtualClock(self.loop)
        config = ShareGroupConfig(
            record_lock_duration_ms=LOCK_MS, delivery_count_limit=LIMIT, auto_offset_reset=auto_offset_reset
        )
        self.ledger = GroupLedger(self._clock, self.open.__contains__, lambda: config)

    def wait(self, ms: int) -> None:
        self.loop.select(ms / 1000)

    def acquire(self, member_id: str, count: int = 1) -> None:
        """A member fetches, and gets the record."""
        acquired = AcquiredRecords(first_offset=3, last_offset=3, delivery_count=count)
        self.answer(self.ask(member_id), ShareFetchPartitionData(partition_index=0, acquired_records=(acquired,)))

    def acknowledge(self, member_id: str, kind: AcknowledgeType, error: ErrorCode = ErrorCode.NONE) -> None:
        """A member acknowledges the record, and hears the result."""
        part = ShareFetchPartitionData(partition_index=0, acknowledge_error_code=error)
        self.answer(self.ask(member_id, kind), part)

    def ask(self, member_id: str, *kinds: AcknowledgeType, session_epoch: int = 1) -> SentRequest:
        """A member sends a fetch, and nobody answers yet."""
        batches = tuple(AcknowledgementBatch(first_offset=3, last_offset=3, acknowledge_types=(k,)) for k in kinds)
        part = ShareFetchPartition(partition_index=0, acknowledgement_batches=batches)
        return self.send(member_id, fetch(member_id, (part,), session_epoch=session_epoch))

    def send(self, member_id: str, request: ShareFetchRequest) -> SentRequest:
        """A member sends a request over its connection."""
        link = Link(self.connections[member_id], "broker:1", to_server=True)
        sent = SentRequest(link, request, self._clock.now_ms())
        self.ledger.asked(sent)
        return sent

    def answer(self, sent: SentRequest, part: ShareFetchPartitionData = NOTHING) -> None:
        """A broker answers a request."""
        topic = ShareFetchableTopicResponse(topic_id=TOPIC, partitions=(part,))
        self.ledger.answered(sent, ShareFetchResponse(acquisition_lock_timeout_ms=LOCK_MS, responses=(topic,)))


def fetch(
    member_id: str,
    parts: tuple[ShareFetchPartition, ...],
    *,
    session_epoch: int = 1,
    forgotten: tuple[ShareForgottenTopic, ...] = (),
) -> ShareFetchRequest:
    return ShareFetchRequest(
        group_id="g",
        member_id=member_id,
        share_session_epoch=session_epoch,
        max_wait_ms=0,
        min_bytes=0,
        max_records=5,
        batch_size=5,
        topics=(ShareFetchTopic(topic_id=TOPIC, partitions=parts),) if parts else (),
        forgotten_topics_data=forgotten,
    )


@pytest.fixture
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.loop.close()


def test_a_record_passes_from_one_holder_to_the_next(wire: Wire) -> None:
    wire.acquire("anna")
    wire.acknowledge("anna", AcknowledgeType.RELEASE)
    wire.acquire("bert", 2)
    wire.acknowledge("bert", AcknowledgeType.ACCEPT)
    assert wire.ledger.violations == []
    assert wire.ledger.accepted == {PLACE}
    assert wire.ledger.is_done(PLACE)


def test_a_lock_keeps_others_away_until_it_expires_or_its_connection_is_lost(wire: Wire) -> None:
    wire.acquire("anna")
    wire.acquire("bert", 2)
    assert "acquired for bert while anna holds it" in wire.ledger.violations.pop()
    wire.wait(LOCK_MS)
    wire.acquire("anna", 3)
    wire.open.remove(1)
    wire.acquire("bert", 4)
    assert wire.ledger.violations == []


@pytest.mark.parametrize("kind", [AcknowledgeType.ACCEPT, AcknowledgeType.REJECT])
def test_a_finished_record_is_not_delivered_again(wire: Wire, kind: AcknowledgeType) -> None:
    wire.acquire("anna")
    wire.acknowledge("anna", kind)
    wire.acquire("bert", 2)
    assert f"{kind.name.lower()}ed before, and delivered again to bert" in wire.ledger.violations[0]


def test_only_the_holder_may_acknowledge(wire: Wire) -> None:
    wire.acquire("anna")
    wire.acknowledge("bert", AcknowledgeType.ACCEPT, ErrorCode.INVALID_RECORD_STATE)
    assert wire.ledger.violations == []
    wire.acknowledge("bert", AcknowledgeType.ACCEPT)
    assert "the broker took ACCEPT from bert, who has no lock" in wire.ledger.violations[0]


def test_delivery_counts_grow_until_a_leader_moves(wire: Wire) -> None:
    wire.acquire("anna", 2)
    wire.ledger.leader_moved(PARTITION)
    wire.acquire("anna", 1)
    assert wire.ledger.violations == []
    wire.acknowledge("anna", AcknowledgeType.RELEASE)
    wire.acquire("anna", 1)
    assert "delivery count 1 after 1" in wire.ledger.violations[0]


def test_a_count_is_forgotten_with_an_acknowledgement_that_nobody_answered(wire: Wire) -> None:
    wire.acquire("anna", 2)
    wire.ask("anna", AcknowledgeType.ACCEPT)
    wire.wait(LOCK_MS + 1)
    wire.acquire("bert", 2)
    assert wire.ledger.violations == []
    wire.wait(LOCK_MS + 1)
    wire.acquire("anna", 1)
    assert "delivery count 1 after 2" in wire.ledger.violations[0]


@pytest.mark.parametrize(
    ("session_epoch", "forgotten"), [(1, (ShareForgottenTopic(topic_id=TOPIC, partitions=(0,)),)), (INITIAL_EPOCH, ())]
)
def test_a_count_is_forgotten_with_the_group_if_its_holder_has_let_go_of_the_partition(
    wire: Wire, session_epoch: int, forgotten: tuple[ShareForgottenTopic, ...]
) -> None:
    wire.acquire("anna")
    request = fetch("anna", (), session_epoch=session_epoch, forgotten=forgotten)
    wire.send("anna", request)
    wire.open.remove(1)
    wire.acquire("bert")
    assert wire.ledger.violations == []
    wire.open.remove(2)
    wire.acquire("bert")
    assert "delivery count 1 after 1" in wire.ledger.violations.pop()


def test_a_record_is_done_at_its_limit_and_may_be_just_before(wire: Wire) -> None:
    done = []
    for count in range(1, LIMIT + 1):
        wire.acquire("anna", count)
        done.append((wire.ledger.is_done(PLACE), wire.ledger.may_be_done(PLACE)))
        wire.acknowledge("anna", AcknowledgeType.RELEASE)
    assert done == [(False, False), (False, True), (True, True)]


def test_an_archived_record_is_acknowledged_without_effect(wire: Wire) -> None:
    wire.acquire("anna", LIMIT)
    wire.wait(LOCK_MS + 1)
    wire.acknowledge("anna", AcknowledgeType.ACCEPT)
    assert wire.ledger.violations == []
    assert wire.ledger.accepted == set()


def test_a_member_that_closes_its_session_may_have_no_locks_any_more(wire: Wire) -> None:
    wire.acquire("anna")
    wire.ask("anna", session_epoch=-1)
    wire.acquire("bert", 2)
    assert wire.ledger.violations == []


def test_a_group_at_the_latest_records_begins_where_it_finished_first() -> None:
    wire = Wire("latest")
    wire.acquire("anna")
    wire.ledger.leader_moved(PARTITION)
    wire.wait(1)
    wire.acknowledge("anna", AcknowledgeType.ACCEPT)  # below the new start, which nobody can see
    assert (wire.ledger.violations, wire.ledger.start_of(PARTITION)) == ([], None)
    wire.acquire("bert")
    wire.acknowledge("bert", AcknowledgeType.ACCEPT)
    assert wire.ledger.start_of(PARTITION) == 3
    wire.loop.close()


def test_a_lock_that_has_expired_is_no_lock(wire: Wire) -> None:
    wire.acquire("anna")
    wire.wait(LOCK_MS + 1)
    wire.acknowledge("anna", AcknowledgeType.ACCEPT)
    assert "the broker took ACCEPT from anna, who has no lock" in wire.ledger.violations[0]


def test_a_record_may_be_done_while_an_acknowledgement_has_no_answer(wire: Wire) -> None:
    wire.acquire("anna")
    wire.ask("anna", AcknowledgeType.ACCEPT)
    assert wire.ledger.may_be_done(PLACE)
    assert not wire.ledger.may_be_done(PLACE, other_than="anna")
    assert not wire.ledger.is_done(PLACE)


@pytest.mark.parametrize("kind", [AcknowledgeType.RELEASE, AcknowledgeType.RENEW])
def test_a_late_answer_of_the_old_leader_ends_no_lock_that_the_next_one_gave_the_same_member(
    wire: Wire, kind: AcknowledgeType
) -> None:
    wire.acquire("anna")
    sent = wire.ask("anna", kind)
    wire.wait(1)
    wire.ledger.leader_moved(PARTITION)
    wire.wait(1)
    wire.connections["anna"] = 3
    wire.acquire("anna", 2)
    wire.answer(sent)
    wire.acknowledge("anna", AcknowledgeType.ACCEPT)
    assert (wire.ledger.violations, wire.ledger.accepted) == ([], {PLACE})


def test_what_the_old_leader_took_the_next_one_delivers_to_nobody(wire: Wire) -> None:
    wire.acquire("anna")
    sent = wire.ask("anna", AcknowledgeType.ACCEPT)
    wire.wait(1)
    wire.ledger.leader_moved(PARTITION)
    wire.wait(1)
    wire.connections["anna"] = 3
    wire.acquire("anna", 2)
    wire.answer(sent)
    assert "taken by the old leader, and delivered by the next one" in wire.ledger.violations[0]


def test_an_acknowledgement_that_comes_after_the_next_holder_s_own_changes_nothing(wire: Wire) -> None:
    wire.acquire("anna")
    late = wire.ask("anna", AcknowledgeType.ACCEPT)
    wire.wait(1)
    wire.ledger.leader_moved(PARTITION)
    wire.wait(1)
    wire.acquire("bert", 2)
    waiting = wire.ask("bert", AcknowledgeType.ACCEPT)
    wire.answer(late)
    wire.answer(waiting)
    assert (wire.ledger.violations, wire.ledger.accepted) == ([], {PLACE})
