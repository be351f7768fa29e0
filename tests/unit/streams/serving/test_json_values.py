import json
from typing import Any

import pytest
from attrs import frozen

from kafka_groups import serdes
from kafka_groups.errors import ConfigurationError
from kafka_groups.serdes import Serde
from kafka_groups.streams.serving.json_values import json_text, read_key, read_number


@frozen
class Order:
    item: str
    photo: bytes


@pytest.mark.parametrize(
    ("text", "serde", "key"),
    [
        ("7", serdes.string, "7"),
        ("", serdes.string, ""),
        ("7", serdes.int64, 7),
        ("true", serdes.bool_, True),
        ("AAE=", serdes.bytes_, b"\0\1"),
        ('{"shop": 1}', serdes.json(dict), {"shop": 1}),
    ],
)
def test_keys_are_read(text: str, serde: Serde[Any], key: object) -> None:
    assert read_key(text, serde, "key") == key


@pytest.mark.parametrize(
    ("text", "serde"),
    [("seven", serdes.int64), ("1.5", serdes.int64), ("~", serdes.bytes_), (str(2**63), serdes.int64)],
)
def test_a_text_that_is_no_key_is_refused(text: str, serde: Serde[Any]) -> None:
    with pytest.raises(ConfigurationError, match=r"^low='.*' is not a key of this store: .* Write texts as they are"):
        read_key(text, serde, "low")


def test_numbers_are_read() -> None:
    assert (read_number("-7", "first_ms"), read_number("1767225600000", "first_ms")) == (-7, 1767225600000)


@pytest.mark.parametrize("text", ["", "-", "1.5", "1e3", "9" * 5_000])
def test_other_numbers_are_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^first_ms='.*' is not a whole number"):
        read_number(text, "first_ms")


def test_values_are_shown() -> None:
    found = {"key": 1, "value": Order("tea", b"\0"), "names": ("ä", None)}
    assert json.loads(json_text(found)) == {"key": 1, "value": {"item": "tea", "photo": "AA=="}, "names": ["ä", None]}


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object()])
def test_a_value_without_a_form_in_json_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="no form in JSON"):
        json_text({"value": value})
