"""Java's serialisers and deserialisers, fed with the bytes of ours."""

import random
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_groups.errors import DeserializationError
from tests.recording.java_serdes import SERDES, hexadecimal, java_answer, recorded, shown
from tests.support.kafka.java_program import JavaProgram
from tests.support.kafka.kafka_classpath import streams_classpath_or_skip
from tests.unit.serdes.calling import read, write

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaProgram]:
    directory = tmp_path_factory.mktemp("serdes")
    with JavaProgram("SerdeDriver", directory, streams_classpath_or_skip()) as driver:
        yield driver


def test_java_reads_and_writes_what_was_recorded(java: JavaProgram) -> None:
    for name, value, data in recorded():
        assert java_answer(java, name, bytes.fromhex(data[1:])) == (value, data)


def some_bytes(name: str, rng: random.Random) -> bytes:
    """Bytes that are a value more often than not, without what Java reads and does not write (see below)."""
    text = "".join(rng.choice("aü✈𝄞") for _ in range(rng.randrange(4))).encode()
    times = struct.pack(">qq", *(rng.choice([0, 1, -1, 2**62, rng.getrandbits(62)]) for _ in range(2)))
    match name.partition(":")[0]:
        case "string":
            return text
        case "uuid":
            return b"%08x-%04x-%04x-%04x-%012x" % tuple(rng.getrandbits(bits) for bits in (32, 16, 16, 16, 48))
        case "bool":
            return rng.choice([b"", b"\0", b"\x01", b"\x02", b"\0\0"])
        case "time":
            return text + times[8:] if rng.random() < 0.9 else bytes(rng.randrange(8))
        case "session":
            return text + times if rng.random() < 0.9 else bytes(rng.randrange(16))
        case _:
            return rng.randbytes(rng.choice([0, 1, 4, 8]))


def our_answer(name: str, data: bytes) -> tuple[str, str] | None:
    serde: Any = SERDES[name]
    try:
        value = read(serde, data)
    except DeserializationError:
        return None
    return shown(name, value), hexadecimal(write(serde, value))


@pytest.mark.parametrize("name", SERDES)
def test_java_reads_writes_and_refuses_the_same_bytes(java: JavaProgram, name: str) -> None:
    rng = random.Random(name)
    read_ones = 0
    for _ in range(300):
        data = some_bytes(name, rng)
        answer = our_answer(name, data)
        assert answer == java_answer(java, name, data), data
        read_ones += answer is not None
    assert read_ones > 30


@pytest.mark.parametrize(
    ("name", "data"), [("string", b"a\xff"), ("uuid", b"1-2-3-4-5"), ("time:300000", b"\xff" + bytes(8))]
)
def test_java_reads_bytes_that_its_serialisers_do_not_write_and_we_refuse_them(
    java: JavaProgram, name: str, data: bytes
) -> None:
    answer = java_answer(java, name, data)
    assert answer is not None
    assert answer[1] != hexadecimal(data)
    assert our_answer(name, data) is None
