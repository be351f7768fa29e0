import pytest

from kafka_groups.config.keys import Key, KeyType
from kafka_groups.errors import ConfigurationError, InvalidConfigError

WAIT = Key(name="wait.ms", type=KeyType.INT, default=500, unit="ms", minimum=1, maximum=1_000, doc="How long.")


def test_value_is_read_from_text_and_from_python() -> None:
    assert WAIT.parse("250") == 250
    assert WAIT.parse(250) == 250


@pytest.mark.parametrize(
    ("value", "why"),
    [(0, "below the minimum of 1"), ("1001", "above the maximum of 1000"), ("x", "not a whole number")],
)
def test_error_names_key_value_and_remedy(value: object, why: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        WAIT.parse(value, named="wait_ms")
    message = str(caught.value)
    assert message.startswith(f"Invalid value {value!r} for wait_ms (wait.ms): {why}")
    assert ". Use a whole number from 1 to 1000 (ms), or omit the key to use the default (500)." in message


def test_error_is_of_the_class_that_the_key_asks_for() -> None:
    key = Key(name="k", type=KeyType.BOOLEAN, default=True, doc="", error=InvalidConfigError)
    with pytest.raises(InvalidConfigError, match=r"Invalid value 'maybe' for k: not true or false\. Use true or false"):
        key.parse("maybe")


@pytest.mark.parametrize(
    ("key_type", "low", "high"),
    [(KeyType.SHORT, -(2**15), 2**15 - 1), (KeyType.INT, -(2**31), 2**31 - 1), (KeyType.LONG, -(2**63), 2**63 - 1)],
)
def test_numbers_stay_within_their_type(key_type: KeyType, low: int, high: int) -> None:
    key = Key(name="n", type=key_type, default=0, doc="")
    assert (key.parse(low), key.parse(high)) == (low, high)
    for beyond in (low - 1, high + 1):
        with pytest.raises(ConfigurationError):
            key.parse(beyond)


def test_none_is_a_value_only_where_it_is_the_default() -> None:
    assert Key(name="p", type=KeyType.STRING, default=None, doc="").parse(None) is None
    with pytest.raises(ConfigurationError, match="a value is required"):
        WAIT.parse(None)


def test_choices_hold_for_words_and_for_lists() -> None:
    word = Key(name="w", type=KeyType.STRING, default="a", choices=("a", "b"), doc="")
    words = Key(name="ws", type=KeyType.LIST, default=("a",), choices=("a", "b"), doc="")
    assert word.parse("b") == "b"
    assert words.parse("a,b") == ("a", "b")
    for key, value in ((word, "c"), (words, "a,c")):
        with pytest.raises(ConfigurationError, match="Use a or b"):
            key.parse(value)


def test_secret_value_is_never_shown() -> None:
    key = Key(name="ssl.key.password", type=KeyType.PASSWORD, doc="")
    with pytest.raises(ConfigurationError) as caught:
        key.parse(12345)
    assert "12345" not in str(caught.value)
    assert key.format("hunter2") is None


@pytest.mark.parametrize(("value", "text"), [(True, "true"), (5, "5"), (("a", "b"), "a,b"), ("x", "x"), (None, None)])
def test_values_are_written_as_kafka_writes_them(value: object, text: str | None) -> None:
    assert Key(name="k", type=KeyType.STRING, default=None, doc="").format(value) == text


def test_key_without_default_is_required() -> None:
    assert Key(name="k", type=KeyType.STRING, doc="").required
    assert not WAIT.required
