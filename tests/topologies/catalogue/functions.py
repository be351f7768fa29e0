"""What the topologies compute: the twins of `java/Functions.java`. All but those that say so take None."""

from datetime import timedelta

from kafka_groups import serdes
from kafka_groups.streams import KStream, KTable, StreamsBuilder

__all__ = [
    "LIST",
    "LONG",
    "TEXT",
    "ByLetter",
    "added",
    "by_length",
    "by_letter",
    "concatenated",
    "has_a",
    "is_large",
    "is_short",
    "joined",
    "joined_with_key",
    "length",
    "length_added",
    "length_by_letter",
    "letter",
    "letter_of",
    "merged",
    "merged_sum",
    "ms",
    "numbers",
    "removed",
    "start",
    "subtracted",
    "summed",
    "swapped",
    "table",
    "tagged",
    "texts",
    "upper",
    "without_it",
    "words",
    "zero",
]

TEXT = serdes.string
LONG = serdes.int64

_LONGEST = 40


def _list_bytes(texts: list[str]) -> bytes:
    return ",".join(texts).encode()


def _list_of(data: bytes) -> list[str]:
    return data.decode().split(",") if data else []


LIST = serdes.of(list, _list_bytes, _list_of)
"""A list of texts without commas, joined by commas."""


def ms(milliseconds: int) -> timedelta:
    """A duration."""
    return timedelta(milliseconds=milliseconds)


def texts(builder: StreamsBuilder, topic: str) -> KStream[str, str]:
    """A stream of texts."""
    return builder.stream(topic, key=TEXT, value=TEXT)


def numbers(builder: StreamsBuilder, topic: str) -> KStream[str, int]:
    """A stream of longs."""
    return builder.stream(topic, key=TEXT, value=LONG)


def table(builder: StreamsBuilder, topic: str) -> KTable[str, str]:
    """A table of texts."""
    return builder.table(topic, key=TEXT, value=TEXT)


def _text(value: object) -> str:
    """As Java writes a value into a text."""
    return "null" if value is None else str(value)


def has_a(_key: str | None, value: str | None) -> bool:
    """Whether there is an a in the value."""
    return value is not None and "a" in value


def is_short(_key: str | None, value: str | None) -> bool:
    """Whether the value has less than three letters."""
    return value is not None and len(value) < 3


def is_large(_key: str | None, value: int | None) -> bool:
    """Whether the value is more than three."""
    return value is not None and value > 3


def upper(value: str | None) -> str:
    """The value in capitals; None for None, as the type of a table's values does not say."""
    return None if value is None else value.upper()  # type: ignore[return-value]


def tagged(key: str | None, value: str | None) -> str:
    """Key and value."""
    return f"{_text(key)}:{_text(value)}"


def words(value: str | None) -> list[str]:
    """The words of the value."""
    return [] if value is None else [word for word in value.split(" ") if word]


def swapped(key: str, value: str) -> tuple[str, str]:
    """Value and key."""
    return value, key


def letter(_key: object, value: str | None) -> str:
    """The first letter of the value; None for None and the empty text."""
    return value[0] if value else None  # type: ignore[return-value]


def letter_of(value: str | None) -> str:
    """As `letter`, of a value alone."""
    return letter(None, value)


def by_letter(key: object, value: str) -> tuple[str, str]:
    """The first letter, and the value."""
    return letter(key, value), value


def length(value: str | None) -> int:
    """How many letters there are."""
    return 0 if value is None else len(value)


def by_length(_key: object, value: str) -> tuple[str, str]:
    """A key for each length, and the value."""
    return f"n{length(value)}", value


def length_by_letter(key: object, value: str) -> tuple[str, int]:
    """The first letter, and the length."""
    return letter(key, value), length(value)


def joined(left: object, right: object) -> str:
    """Both."""
    return f"{_text(left)}+{_text(right)}"


def joined_with_key(key: object, left: object, right: object) -> str:
    """The key and both."""
    return f"{_text(key)}={_text(left)}+{_text(right)}"


def start() -> str:
    """No text."""
    return ""


def zero() -> int:
    """Nothing."""
    return 0


def added(_key: object, value: str | None, aggregate: str) -> str:
    """The text with one more value."""
    return _last(f"{_text(aggregate)},{_text(value)}")


def removed(_key: object, value: str | None, aggregate: str) -> str:
    """The text with one value less."""
    return _last(f"{_text(aggregate)}-{_text(value)}")


def concatenated(aggregate: str, value: str) -> str:
    """The text with one more value."""
    return _last(f"{_text(aggregate)},{_text(value)}")


def without_it(aggregate: str, value: str) -> str:
    """The text with one value less."""
    return _last(f"{_text(aggregate)}-{_text(value)}")


def merged(_key: object, left: str, right: str) -> str:
    """Two texts of a session."""
    return _last(f"{_text(left)}|{_text(right)}")


def summed(_key: object, value: int, aggregate: int) -> int:
    """A sum with one more number, which is not None."""
    return aggregate + value


def subtracted(_key: object, value: int, aggregate: int) -> int:
    """A sum with one number less."""
    return aggregate - value


def length_added(_key: object, value: str | None, aggregate: int) -> int:
    """A sum of lengths."""
    return aggregate + length(value)


def merged_sum(_key: object, left: int, right: int) -> int:
    """Two sums of a session."""
    return left + right


class ByLetter:
    """A topic for each first letter."""

    def __call__(self, _key: object, value: str | None, _context: object) -> str:
        """Return the topic."""
        return f"out-{value[0]}" if value else "out-none"

    def __repr__(self) -> str:
        """Return what a description shows."""
        return "by_letter"


def _last(text: str) -> str:
    return text[-_LONGEST:]
