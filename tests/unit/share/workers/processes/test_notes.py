"""Notes of what slots run, in memory that another process reads."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from kafka_groups import Batch, RetryTopics, Worker
from kafka_groups.protocol.messages.share_fetch import AcquiredRecords
from kafka_groups.share.delivery.delivery import Delivery, SessionId
from kafka_groups.share.workers.processes.notes import RunningNotes, RunningNotesLayout
from kafka_groups.share.workers.rules.dead_letter_headers import record_id
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.share.workers.rules.steps import InvokeHandler, OpenRecord
from kafka_groups.types import TopicIdPartition


class Recorded:
    """A record with nothing but a place."""

    def __init__(self, partition: TopicIdPartition, offset: int) -> None:
        acquired = [AcquiredRecords(first_offset=0, last_offset=10_000, delivery_count=1)]
        self._delivery = Delivery(partition, SessionId(1, 1), acquired, 0)
        self.offset = offset


def partition(topic: str, number: int = 0) -> TopicIdPartition:
    return TopicIdPartition(UUID(int=sum(topic.encode())), number, topic)


def run_of(*places: tuple[TopicIdPartition, int], is_open: bool = False, is_batch: bool = False) -> InvokeHandler[Any]:
    records: list[Any] = [Recorded(*place) for place in places]
    opened = [OpenRecord(record, record_id(record), 1) for record in records] if is_open else None
    return InvokeHandler(records, opened, is_batch=is_batch)


@pytest.fixture
def layout() -> RunningNotesLayout:
    worker = Worker("shop", bootstrap_servers="localhost:9092")
    worker.handler("orders", concurrency=2)(lambda value: None)
    worker.batch_handler(["payments", "refunds"], name="store")(store)
    return RunningNotesLayout.of(worker.handlers)


def store(batch: Batch[bytes]) -> None: ...


@pytest.fixture
def memory(layout: RunningNotesLayout) -> memoryview:
    return memoryview(bytearray(layout.size))


def read(layout: RunningNotesLayout, memory: memoryview) -> Sequence[str]:
    return [str(each) for each in layout.read(memory)]


def test_the_slots_of_a_handler_also_note_records_of_its_retry_topics() -> None:
    worker = Worker("shop", bootstrap_servers="localhost:9092")
    retry_topics = RetryTopics("orders.retry", delays=(10, 60))
    worker.handler("orders", name="invoice", dead_letters="dead", retry_topics=retry_topics)(lambda value: None)
    worker.handler("payments", name="pay")(lambda value: None)
    layout = RunningNotesLayout.of(worker.handlers)
    memory = memoryview(bytearray(layout.size))
    for slot, topic in enumerate(["orders", *retry_topics.names]):
        layout.notes_for("invoice", memory).began(slot, run_of((partition(topic), slot)))
    layout.notes_for("pay", memory).began(0, run_of((partition("payments"), 7)))
    found = ["orders-0@0", "orders.retry.10s-0@1", "orders.retry.1m-0@2", "payments-0@7"]
    assert read(layout, memory) == found


def test_each_slot_notes_its_run(layout: RunningNotesLayout, memory: memoryview) -> None:
    orders, others = layout.notes_for("<lambda>", memory), layout.notes_for("store", memory)
    assert (orders.slots, others.slots) == (2, 1)
    orders.began(0, run_of((partition("orders", 3), 5), (partition("orders", 3), 9)))
    orders.began(1, run_of((partition("orders", 4), 7), is_open=True))
    others.began(0, run_of((partition("refunds"), 1)))
    assert layout.read(memory) == [
        RunningRange(partition("orders", 3), 5, 9),
        RunningRange(partition("orders", 4), 7, 7),
        RunningRange(partition("refunds"), 1, 1),
    ]
    orders.ended(0)
    assert read(layout, memory) == ["orders-4@7", "refunds-0@1"]


def test_a_run_of_several_partitions_notes_each(layout: RunningNotesLayout, memory: memoryview) -> None:
    notes = layout.notes_for("store", memory)
    places = [(partition("refunds"), 4), (partition("payments", 1), 9), (partition("refunds"), 2)]
    notes.began(0, run_of(*places, is_batch=True))
    assert read(layout, memory) == ["refunds-0@2 to 4", "payments-1@9"]
    notes.began(0, run_of(*places, is_open=True))
    assert read(layout, memory) == ["refunds-0@2 to 4", "payments-1@9"]


def test_a_batch_of_many_partitions_notes_the_first_eight(layout: RunningNotesLayout, memory: memoryview) -> None:
    notes = layout.notes_for("store", memory)
    notes.began(0, run_of(*((partition("refunds", number), 1) for number in range(10)), is_batch=True))
    assert read(layout, memory) == [f"refunds-{number}@1" for number in range(8)]


def test_runs_that_were_taken_back_and_slots_without_room_note_nothing(
    layout: RunningNotesLayout, memory: memoryview
) -> None:
    notes = layout.notes_for("<lambda>", memory)
    run = run_of((partition("orders"), 1))
    run.take_back()
    notes.began(0, run)
    notes.began(2, run_of((partition("orders"), 1)))
    notes.ended(2)
    assert read(layout, memory) == []


def test_processes_find_what_others_run_of_some_offsets(layout: RunningNotesLayout) -> None:
    notes = RunningNotes(layout, bytearray(RunningNotes.size(layout, 2)))
    notes.notes_for(0, "<lambda>").began(1, run_of((partition("orders", 3), 5), (partition("orders", 3), 9)))
    notes.notes_for(2, "store").began(0, run_of((partition("refunds"), 1)))
    assert notes.others(2, partition("orders", 3), 9, 20) == [RunningRange(partition("orders", 3), 5, 9)]
    assert notes.others(2, partition("orders", 3), 10, 20) == []
    assert notes.others(2, partition("orders", 4), 5, 9) == []
    assert notes.others(0, partition("orders", 3), 5, 9) == []
    assert notes.others(1, partition("refunds"), 0, 1) == [RunningRange(partition("refunds"), 1, 1)]


def test_notes_of_a_process_stay_until_its_second_successor_begins(layout: RunningNotesLayout) -> None:
    notes = RunningNotes(layout, bytearray(RunningNotes.size(layout, 2)))
    first = RunningNotes.next_part(1, None)
    notes.notes_for(first, "store").began(0, run_of((partition("refunds"), 1)))
    second = RunningNotes.next_part(1, first)
    notes.clear(second)
    assert notes.read(second) == []
    assert notes.others(second, partition("refunds"), 1, 1) == notes.read(first) != []
    assert RunningNotes.next_part(1, second) == first
    notes.clear(first)
    assert notes.read(first) == []
    assert not {first, second} & {RunningNotes.next_part(0, None), RunningNotes.next_part(0, 0)}


def test_a_note_that_is_just_being_written_may_name_no_topic(layout: RunningNotesLayout, memory: memoryview) -> None:
    layout.notes_for("store", memory).began(0, run_of((partition("refunds"), 1)))
    assert read(layout, memory) == ["refunds-0@1"]
    begins = memory.tobytes().index(b"\x01")
    memory[begins + 9] = 1  # the second byte of the topic's number
    assert read(layout, memory) == []


def test_very_many_slots_have_room_for_some() -> None:
    worker = Worker("shop", bootstrap_servers="localhost:9092")

    @worker.handler("orders", concurrency=100_000)
    async def handle(value: bytes) -> None: ...

    layout = RunningNotesLayout.of(worker.handlers)
    assert layout.notes_for("handle", memoryview(bytearray(layout.size))).slots == 1_024
