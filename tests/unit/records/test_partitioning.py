"""Partitions of keys: the hash of Java's clients, compiled and in Python."""

import logging
import sys
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import murmurhash2
import pytest

from kafka_groups.records import partitioning
from tests.recording.java_key_hashes import keys, recorded

SIGN = 1 << 32


@pytest.fixture
def in_python(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module where the package murmurhash2 is not installed."""
    monkeypatch.setitem(sys.modules, "murmurhash2", None)
    spec = spec_from_file_location(partitioning.__name__, partitioning.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["compiled", "in_python"])
def hashing(request: pytest.FixtureRequest) -> ModuleType:
    return partitioning if request.param == "compiled" else request.getfixturevalue(request.param)


def test_this_interpreter_has_the_compiled_hash() -> None:
    assert partitioning._compiled is murmurhash2.murmurhash2


def test_hashes_are_those_of_java(hashing: ModuleType) -> None:
    found = {name: hashing.murmur2(key) for name, key in keys()}
    assert found == {name: expected % SIGN for name, expected in recorded().items()}
    assert len(found) == 3 * 301


@pytest.mark.parametrize(("key", "partition"), [(b"21", 0), (b"foobar", 2), (b"abc", 3)])
def test_a_key_has_its_partition_whatever_the_sign_of_its_hash(hashing: ModuleType, key: bytes, partition: int) -> None:
    assert hashing.partition_of(key, 4) == (hashing.murmur2(key) & 0x7FFFFFFF) % 4 == partition
    assert hashing.partition_of(key, 1) == 0


def test_other_buffers_have_the_hash_of_their_bytes(hashing: ModuleType) -> None:
    assert hashing.murmur2(bytearray(b"foobar")) == -790332482 % SIGN
    assert hashing.murmur2(memoryview(b"foobar")) == -790332482 % SIGN
    for given in ("foobar", 6, None):
        with pytest.raises(TypeError):
            hashing.murmur2(given)


def test_one_line_says_that_keys_are_hashed_in_python(in_python: ModuleType, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="kafka_groups"):
        in_python.partition_of(b"a", 1)
        assert caplog.messages == []
        for _ in range(3):
            in_python.partition_of(b"a", 4)
    assert [(record.name, record.levelname) for record in caplog.records] == [(partitioning.__name__, "INFO")]
    assert "the package murmurhash2 is not installed" in caplog.text


def test_the_compiled_hash_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="kafka_groups"):
        partitioning.partition_of(b"a", 4)
    assert caplog.messages == []
