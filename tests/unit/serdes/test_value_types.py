"""Which values can change, and which classes values are checked with."""

import dataclasses
import datetime
import enum
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, NewType, Protocol, TypedDict
from uuid import UUID

import attrs
import pytest

from kafka_groups.serdes.value_types import classes_of, is_immutable_type, shown_type

UserId = NewType("UserId", str)
Basket = NewType("Basket", list[str])


class Colour(enum.Enum):
    RED = 1


@dataclasses.dataclass(frozen=True)
class FrozenPoint:
    kind: ClassVar[list[str]] = []
    x: int
    name: str | None = None


@dataclasses.dataclass(frozen=True)
class FrozenBox:
    points: tuple[FrozenPoint, ...]
    parent: "FrozenBox | None" = None


@dataclasses.dataclass(frozen=True)
class FrozenList:
    items: list[int]


@dataclasses.dataclass
class OpenPoint:
    x: int


@attrs.frozen
class FrozenAttrs:
    x: int
    day: datetime.date


@attrs.define
class OpenAttrs:
    x: int


@attrs.define
class OpenWithValidator:
    x: int = attrs.field(validator=attrs.validators.instance_of(int))


@attrs.frozen(slots=False)
class FrozenOfOpen:
    point: OpenAttrs


class FieldTable(TypedDict):
    x: int


class Sized(Protocol):
    def size(self) -> int: ...


class Ordinary:
    x: int = 1


@pytest.mark.parametrize(
    "of",
    [
        str, int, float, bool, bytes, UUID, Decimal, datetime.datetime, datetime.timedelta, Colour, None, type(None),
        int | None, tuple[int, ...], tuple[str, FrozenPoint], frozenset[str], Literal["a", "b"], Annotated[int, "x"],
        UserId, FrozenPoint, FrozenBox, FrozenAttrs,
    ],
    ids=str,
)  # fmt: skip
def test_values_that_cannot_change(of: Any) -> None:
    assert is_immutable_type(of)


@pytest.mark.parametrize(
    "of",
    [
        list, list[int], dict[str, int], set[int], bytearray, tuple, tuple[list[int], ...], int | list[int], Basket,
        OpenPoint, FrozenList, OpenAttrs, OpenWithValidator, FrozenOfOpen, Annotated[list[int], "x"], FieldTable, Sized,
        Ordinary, object, Any,
    ],
    ids=str,
)  # fmt: skip
def test_values_that_can_change(of: Any) -> None:
    assert not is_immutable_type(of)


@pytest.mark.parametrize(
    ("of", "classes"),
    [
        (str, (str,)),
        (float, (float, int)),
        (list[int], (list,)),
        (dict[str, int], (dict,)),
        (int | str, (int, str)),
        (UserId, (str,)),
        (Basket, (list,)),
        (Annotated[int, "x"], (int,)),
        (FieldTable, (dict,)),
        (Sized, (object,)),
        (Any, (object,)),
        (OpenPoint, (OpenPoint,)),
    ],
    ids=str,
)
def test_classes_to_check_values_with(of: Any, classes: tuple[type, ...]) -> None:
    assert classes_of(of) == classes


@pytest.mark.parametrize(
    ("of", "text"), [(OpenPoint, "OpenPoint"), (list[int], "list[int]"), (Callable[[int], str], "collections.abc.Call")]
)
def test_types_have_names_for_errors(of: Any, text: str) -> None:
    assert shown_type(of).startswith(text)
