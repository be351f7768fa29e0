"""Batches that are corrupt or of an old format."""

import pytest
from attrs import evolve

from kafka_groups.errors import CorruptRecordError
from kafka_groups.records.fetching.fetch import FetchOptions
from tests.unit.records.fetching.scenes import A0, B0, brokers, take, values, write


def test_a_corrupt_batch_ends_its_partition_after_the_records_before_it() -> None:
    found = brokers()
    for at in range(3):
        write(found, A0, b"%d" % at)
    write(found, B0, b"b")
    log = found.log("a")
    data = bytearray(log.batches[1].data)
    data[-2] ^= 1
    log.batches[1] = evolve(log.batches[1], data=bytes(data))
    found.reader.assign({A0: 0, B0: 0})
    found.turn()
    polled = take(found)
    assert (values(polled), values(polled, B0)) == ([b"0"], [b"b"])
    assert found.reader.has_news
    with pytest.raises(CorruptRecordError, match=r"a-0 cannot be read from offset 1 on.*before offset 2"):
        found.reader.raise_failure()
    found.reader.raise_failure()
    write(found, B0, b"c")
    found.turn()
    assert values(take(found), B0) == [b"c"]
    assert found.reader.assigned == {B0}


def test_a_batch_of_an_old_format_ends_its_partition_after_the_records_before_it() -> None:
    found = brokers()
    for at in range(2):
        write(found, A0, b"%d" % at)
    log = found.log("a")
    data = bytearray(log.batches[1].data)
    data[16] = 1
    log.batches[1] = evolve(log.batches[1], data=bytes(data))
    found.reader.assign({A0: 0})
    found.turn()
    assert values(take(found)) == [b"0"]
    with pytest.raises(CorruptRecordError, match=r"a-0 cannot be read from offset 1 on.*format 1"):
        found.reader.raise_failure()


def test_without_checks_a_wrong_checksum_is_read() -> None:
    found = brokers(options=FetchOptions(check_crcs=False))
    write(found, A0, b"0")
    log = found.log("a")
    data = bytearray(log.batches[0].data)
    data[17] ^= 1
    log.batches[0] = evolve(log.batches[0], data=bytes(data))
    found.reader.assign({A0: 0})
    found.turn()
    assert values(take(found)) == [b"0"]
