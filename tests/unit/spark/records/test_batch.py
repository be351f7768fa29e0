"""What `process` is given."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka_groups.errors import ConfigurationError, IllegalStateError
from kafka_groups.share.delivery.share_records import ShareRecords
from kafka_groups.spark.records.batch import ShareBatch
from kafka_groups.types import AcknowledgeType
from tests.unit.spark.polled import Broker, delivery, polled

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT


def offsets(batch: ShareBatch) -> list[int]:
    return [record.offset for record in batch]


def decisions(batch: ShareBatch) -> dict[int, int]:
    broker = Broker(batch.records)
    batch.accept_open()
    broker.commit_sync()
    return broker.decisions


def test_a_batch_as_a_table_as_a_frame_and_record_by_record() -> None:
    batch = ShareBatch(polled((10, 12, 1), (20, 20, 3)))
    assert len(batch) == 4
    assert offsets(batch) == [10, 11, 12, 20]
    table = batch.to_arrow()
    assert table.column("offset").to_pylist() == [10, 11, 12, 20]
    assert table.column("value").to_pylist() == [b"v10", b"v11", b"v12", b"v20"]
    assert batch.to_arrow() is table
    assert batch.to_arrow(["value"]).column_names == ["value"]
    assert batch.to_pandas()["delivery_count"].tolist() == [1, 1, 1, 3]
    assert batch.delivery_counts.tolist() == [1, 1, 1, 3]
    assert batch.max_delivery_count == 3
    assert batch.deadline_ms == 1 << 40
    assert batch.deadline == (1 << 40) / 1000


def test_what_nothing_is_said_about_is_accepted() -> None:
    batch = ShareBatch(polled((0, 2, 1)))
    assert decisions(batch) == {0: ACCEPT, 1: ACCEPT, 2: ACCEPT}


MASKS: list[Callable[[ShareBatch], Any]] = [
    lambda _: [False, True, False, True],
    lambda _: np.array([False, True, False, True]),
    lambda _: pa.array([False, True, None, True]),
    lambda _: pa.chunked_array([[False, True], [False, True]]),
    lambda batch: [record for record in batch if record.offset in (11, 20)],
    lambda batch: batch.to_pandas()["offset"].isin([11, 20]),
]


@pytest.mark.parametrize("mask", MASKS)
def test_a_mask_says_which_records_are_meant(mask: Callable[[ShareBatch], Any]) -> None:
    batch = ShareBatch(polled((10, 12, 1), (20, 20, 1)))
    assert batch.reject(mask(batch)) == 2
    assert decisions(batch) == {10: ACCEPT, 11: REJECT, 12: ACCEPT, 20: REJECT}


def test_one_record_all_records_and_the_last_word_counts() -> None:
    batch = ShareBatch(polled((0, 2, 1)))
    assert batch.reject() == 3
    assert batch.release(next(iter(batch))) == 1
    assert decisions(batch) == {0: RELEASE, 1: REJECT, 2: REJECT}


def test_several_deliveries_are_one_batch() -> None:
    batch = ShareBatch(ShareRecords([delivery((0, 2, 1)), delivery((50, 52, 2))]))
    batch.reject(batch.to_arrow().column("offset").to_numpy() > 50)
    assert decisions(batch) == {0: ACCEPT, 1: ACCEPT, 2: ACCEPT, 50: ACCEPT, 51: REJECT, 52: REJECT}


def test_a_part_shows_and_decides_about_its_own_records_only() -> None:
    whole = ShareBatch(polled((0, 5, 1)))
    part = whole.part([1, 2, 4])
    assert len(part) == 3
    assert offsets(part) == part.to_arrow().column("offset").to_pylist() == [1, 2, 4]
    assert part.part([1, 2]).to_arrow(["offset"]).to_pydict() == {"offset": [2, 4]}
    assert part.delivery_counts.tolist() == [1, 1, 1]
    assert part.reject([True, False, False]) == 1
    part.accept_open()
    broker = Broker(whole.records)
    broker.commit_sync()
    assert broker.decisions == {1: REJECT, 2: ACCEPT, 4: ACCEPT}


def test_the_records_that_were_rejected() -> None:
    batch = ShareBatch(polled((0, 5, 1)))
    assert batch.rejected_rows() == []
    batch.reject([False, True, False, False, True, False])
    assert batch.rejected_rows() == [1, 4]
    assert batch.part([2, 4, 5]).rejected_rows() == [1]


def test_decisions_by_row_replace_earlier_ones() -> None:
    batch = ShareBatch(polled((0, 5, 1)))
    batch.decide(AcknowledgeType.RELEASE)
    batch.decide(AcknowledgeType.REJECT, [0])
    batch.part([1, 2, 4]).decide(AcknowledgeType.REJECT, range(1, 3))
    assert decisions(batch) == {0: REJECT, 1: RELEASE, 2: REJECT, 3: RELEASE, 4: REJECT, 5: RELEASE}


def test_the_first_deadline_of_locks_that_cannot_be_renewed() -> None:
    deliveries = [delivery((0, 2, 1)), delivery((10, 12, 1)), delivery((20, 22, 1))]
    batch = ShareBatch(ShareRecords(deliveries))
    assert batch.fixed_deadline_ms is None
    for fixed, deadline_ms in zip(deliveries[1:], (700, 600), strict=True):
        fixed.renewable, fixed.lock_deadline_ms = False, deadline_ms
    assert batch.part([0]).fixed_deadline_ms == 600


def test_delivery_counts_by_row() -> None:
    batch = ShareBatch(polled((0, 1, 1), (2, 2, 4)))
    assert batch.counts_by_row() == [1, 1, 4]
    assert batch.part([1, 2]).counts_by_row() == [1, 4]


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        ([True], "1 value, but the batch has 3 records"),
        ([0, 2, 1], "one boolean for each row"),
        (np.ones((3, 1)), "boolean"),
    ],
)
def test_a_mask_that_does_not_fit(mask: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        ShareBatch(polled((0, 2, 1))).reject(mask)


def test_records_of_another_batch() -> None:
    other = ShareBatch(polled((70, 71, 1)))
    with pytest.raises(IllegalStateError, match="not of this batch"):
        ShareBatch(polled((0, 2, 1))).release(list(other))


def test_renewing() -> None:
    renewed: list[object] = []

    def renew(records: object) -> dict[Any, Any]:
        renewed.append(records)
        return {0: None}

    batch = ShareBatch(polled((0, 2, 1)), renew)
    assert batch.renew()
    assert renewed == [batch.records]
    assert ShareBatch(polled((0, 2, 1))).renew()


def test_afterwards_a_batch_can_be_read_only() -> None:
    batch = ShareBatch(polled((0, 2, 1)), lambda _: {})
    batch.end()
    assert offsets(batch) == [0, 1, 2]
    for call in (batch.reject, batch.release, batch.renew):
        with pytest.raises(IllegalStateError, match="has returned"):
            call()
