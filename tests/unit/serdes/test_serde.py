"""Every serde: frozen, compared by what it does, and nullable without another form of bytes."""

from typing import Any, assert_type

import pytest
from attrs.exceptions import FrozenInstanceError

from kafka_groups import serdes
from kafka_groups.errors import ConfigurationError
from kafka_groups.serdes import Serde
from tests.unit.serdes.calling import read, write


def test_a_serde_cannot_change() -> None:
    with pytest.raises(FrozenInstanceError):
        serdes.string.name = "other"  # type: ignore[misc]


def test_a_nullable_serde_writes_the_same_bytes_and_says_that_null_is_expected() -> None:
    serde = serdes.nullable(serdes.int64)
    assert_type(serde, Serde[int | None])
    assert serde.is_nullable
    assert not serdes.int64.is_nullable
    assert write(serde, 5) == write(serdes.int64, 5)
    assert read(serde, bytes(8)) == 0
    assert (serde.name, serde.is_immutable) == ("serdes.int64", True)


def test_a_nullable_serde_is_equal_to_the_serde() -> None:
    assert serdes.nullable(serdes.string) == serdes.string
    assert hash(serdes.nullable(serdes.string)) == hash(serdes.string)
    other: Serde[Any] = serdes.int64
    assert serdes.nullable(serdes.string) != other
    assert serdes.int32 != serdes.int64


def test_what_is_not_a_serde_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"serdes\.nullable: serde=<class 'str'> is not a serde"):
        serdes.nullable(str)  # type: ignore[arg-type]
