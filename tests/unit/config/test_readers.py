from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.config import readers
from kafka_groups.config.readers import UnfitError


class BytesPath:
    """A path that is no text."""

    def __fspath__(self) -> bytes:
        return b"/ca.pem"


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("PT0S", 0),
        ("PT1H", 3_600_000),
        ("P1D", 86_400_000),
        ("P1DT2H3M4.5S", 86_400_000 + 7_200_000 + 180_000 + 4_500),
        ("pt1h", 3_600_000),
        ("PT0.0019S", 1),
        ("PT1.S", 1_000),
        ("PT1,5S", 1_500),
        ("PT-1H+61M", 60_000),
        ("-PT-1S", 1_000),
        ("+P2D", 172_800_000),
    ],
)
def test_duration_is_read_in_milliseconds(text: str, expected_ms: int) -> None:
    assert readers.duration_ms(text) == expected_ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        "P",
        "PT",
        "1H",
        "P1H",
        "PT1D",
        "P1W",
        "P1M",
        "P1Y",
        "PT1.1234567890S",
        "PT.5S",
        "PT1HT1M",
        "P1DT",
        "PT\u0661S",
        f"P{10**30}D",
    ],
)
def test_text_that_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UnfitError, match="not an ISO-8601 duration"):
        readers.duration_ms(text)


@pytest.mark.parametrize("text", ["PT-1S", "-PT1S", "P1DT-25H", "PT-0.5S"])
def test_negative_duration_is_refused(text: str) -> None:
    with pytest.raises(UnfitError, match="negative"):
        readers.duration_ms(text)


def test_duration_beyond_a_long_is_refused() -> None:
    with pytest.raises(UnfitError, match="too long"):
        readers.duration_ms("P999999999999999D")


@given(st.integers(0, 10_000), st.integers(0, 100), st.integers(0, 100), st.integers(0, 99), st.integers(0, 999))
def test_duration_adds_its_parts(days: int, hours: int, minutes: int, seconds: int, millis: int) -> None:
    text = f"P{days}DT{hours}H{minutes}M{seconds}.{millis:03}S"
    assert readers.duration_ms(text) == (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + millis


@pytest.mark.parametrize(("value", "expected"), [(True, True), ("true", True), (" FALSE ", False), (False, False)])
def test_booleans(value: object, expected: object) -> None:
    assert readers.read_boolean(value) is expected


@pytest.mark.parametrize("value", ["yes", "1", 1, 0, None, "", b"true"])
def test_what_is_no_boolean_is_refused(value: object) -> None:
    with pytest.raises(UnfitError, match="not true or false"):
        readers.read_boolean(value)


@pytest.mark.parametrize(("value", "expected"), [(5, 5), ("500", 500), (" -1 ", -1), ("+7", 7)])
def test_integers(value: object, expected: int) -> None:
    assert readers.read_integer(value) == expected


@pytest.mark.parametrize("value", [True, 1.0, "1.0", "1_000", "1e3", "", "x", None, b"1", "\u0661", "9" * 5_000])
def test_what_is_no_integer_is_refused(value: object) -> None:
    with pytest.raises(UnfitError, match="not a whole number"):
        readers.read_integer(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a:1", (("a", 1),)),
        (" a:1 , b.example:9092,", (("a", 1), ("b.example", 9092))),
        ("[::1]:9092", (("::1", 9092),)),
        (["a:1", ("b", 2)], (("a", 1), ("b", 2))),
        ((("a", "9092"),), (("a", 9092),)),
        ((("h", 65535),), (("h", 65535),)),
    ],
)
def test_hosts_and_ports(value: object, expected: object) -> None:
    assert readers.read_host_ports(value) == expected


@pytest.mark.parametrize(
    "value",
    ["", ",", "a", "a:", ":1", "a:b", "a:0", "a:65536", "::1:9092", "http://a:1", [], [1], 5, b"a:1", [("", 1)], None],
)
def test_what_is_no_list_of_hosts_and_ports_is_refused(value: object) -> None:
    with pytest.raises(UnfitError):
        readers.read_host_ports(value)


@pytest.mark.parametrize(("value", "expected"), [("a, b", ("a", "b")), ("", ()), (["a", " b"], ("a", "b"))])
def test_lists(value: object, expected: object) -> None:
    assert readers.read_list(value) == expected


@pytest.mark.parametrize("value", [None, 1, b"a", [1]])
def test_what_is_no_list_is_refused(value: object) -> None:
    with pytest.raises(UnfitError):
        readers.read_list(value)


@pytest.mark.parametrize("value", ["latest", "earliest", "by_duration:PT1H", " latest "])
def test_offset_resets(value: str) -> None:
    assert readers.read_offset_reset(value) == value.strip()


@pytest.mark.parametrize("value", ["none", "Latest", "", "by_duration:", "by_duration:1h", "by_duration:-PT1H", None])
def test_what_is_no_offset_reset_is_refused(value: object) -> None:
    with pytest.raises(UnfitError):
        readers.read_offset_reset(value)


def test_duration_of_an_offset_reset() -> None:
    assert readers.offset_reset_duration_ms("by_duration:PT2S") == 2_000
    assert readers.offset_reset_duration_ms("latest") is None


@pytest.mark.parametrize(("value", "expected"), [("", "none"), ("HTTPS", "https"), ("none", "none")])
def test_endpoint_identification(value: str, expected: str) -> None:
    assert readers.read_endpoint_identification(value) == expected


def test_callables() -> None:
    assert readers.read_callable(bytes.decode) is bytes.decode
    with pytest.raises(UnfitError, match="not a function"):
        readers.read_callable("json.loads")


def test_paths_of_text_are_read() -> None:
    assert readers.read_path(" /ca.pem ") == readers.read_path(Path("/ca.pem")) == "/ca.pem"


@pytest.mark.parametrize("value", [b"/ca.pem", BytesPath(), 3])
def test_other_paths_are_refused(value: object) -> None:
    with pytest.raises(UnfitError, match="not a string"):
        readers.read_path(value)


@pytest.mark.parametrize(
    "value", ["User:ann;User:CN=bob,O=Acme", " User:ann ; User:CN=bob,O=Acme;", ("User:ann", "User:CN=bob,O=Acme")]
)
def test_principals_are_separated_by_semicolons(value: object) -> None:
    assert readers.read_principals(value) == ("User:ann", "User:CN=bob,O=Acme")
    assert readers.read_principals("") == ()


def test_a_principal_has_a_type() -> None:
    with pytest.raises(UnfitError, match="'ann' has no type"):
        readers.read_principals("User:bob;ann")


def test_the_only_authorizer_is_kafkas() -> None:
    assert readers.read_authorizer(f" {readers.STANDARD_AUTHORIZER} ") == readers.STANDARD_AUTHORIZER
    assert readers.read_authorizer("") == ""
    with pytest.raises(UnfitError, match="does not have this authorizer"):
        readers.read_authorizer("com.acme.Authorizer")
