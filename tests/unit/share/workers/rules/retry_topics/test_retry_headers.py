"""The headers of records in retry topics."""

import re

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.share.workers.rules.origins import RecordOrigin
from kafka_groups.share.workers.rules.retry_topics.retry_headers import (
    RetryHeadersError,
    RetryState,
    own_headers,
    read_headers,
)
from kafka_groups.types import Header

STATE = RetryState(
    group="shop",
    handler="invoice",
    origin=RecordOrigin("orders", 3, 1234, 1_700_000_000_000),
    attempts=4,
    retries=3,
    deaths=1,
    first_failure_ms=1_700_000_001_000,
    due_ms=1_700_000_061_000,
    error="ValueError: no address",
)

NUMBERS = st.integers(0, 2**63 - 1)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
states = st.builds(
    RetryState,
    group=NAMES,
    handler=NAMES,
    origin=st.builds(RecordOrigin, NAMES, NUMBERS, NUMBERS, st.none() | NUMBERS),
    attempts=NUMBERS,
    retries=NUMBERS,
    deaths=NUMBERS,
    first_failure_ms=NUMBERS,
    due_ms=NUMBERS,
    error=NAMES,
    is_possible_duplicate=st.booleans(),
)
keys = NAMES | st.sampled_from(["__retry.group", "__retry.due", "__retry.", "__dlq.errors.message"])
own = st.lists(st.tuples(keys, st.none() | st.binary(max_size=10)), max_size=6)


def test_numbers_are_decimal_text() -> None:
    assert STATE.headers() == [
        ("__retry.group", b"shop"),
        ("__retry.handler", b"invoice"),
        ("__retry.origin.topic", b"orders"),
        ("__retry.origin.partition", b"3"),
        ("__retry.origin.offset", b"1234"),
        ("__retry.origin.timestamp", b"1700000000000"),
        ("__retry.attempts", b"4"),
        ("__retry.retries", b"3"),
        ("__retry.deaths", b"1"),
        ("__retry.first.failure", b"1700000001000"),
        ("__retry.due", b"1700000061000"),
        ("__retry.error", b"ValueError: no address"),
    ]


def test_a_possible_duplicate_is_marked_and_a_missing_timestamp_is_left_out() -> None:
    origin = RecordOrigin("orders", 3, 1234)
    headers = dict(evolve(STATE, origin=origin, is_possible_duplicate=True).headers())
    assert headers["__retry.possible.duplicate"] == b"true"
    assert "__retry.origin.timestamp" not in headers


@given(state=states, own=own)
def test_what_is_written_is_read_and_own_headers_stay_as_they_were(state: RetryState, own: list[Header]) -> None:
    headers = [*own, *state.headers()]
    assert read_headers(headers, state.group, state.handler) == state
    assert own_headers(headers) == own


@given(states=st.lists(states, min_size=2, max_size=3), own=own)
def test_the_last_write_counts(states: list[RetryState], own: list[Header]) -> None:
    written = [*own, *states[0].headers()]
    for state in states[1:]:
        written = [*own_headers(written), *state.headers()]
    assert read_headers(written, states[-1].group, states[-1].handler) == states[-1]
    assert own_headers(written) == own


def test_headers_that_others_add_belong_to_the_record() -> None:
    headers = [("a", b"1"), *STATE.headers(), ("mirrored", b"yes")]
    assert read_headers(headers, "shop", "invoice") == STATE
    assert own_headers(headers) == [("a", b"1"), ("mirrored", b"yes")]


def test_headers_of_later_versions_are_ignored() -> None:
    headers = [("a", b"1"), *STATE.headers(), ("__retry.colour", b"red")]
    assert read_headers(headers, "shop", "invoice") == STATE
    assert own_headers(headers) == [("a", b"1")]


@pytest.mark.parametrize("error", ["no file \udcff.txt", 3_000 * "x"])
def test_the_text_of_any_error_fits_into_a_header(error: str) -> None:
    read = read_headers(evolve(STATE, error=error).headers(), "shop", "invoice")
    assert read.error in (r"no file \udcff.txt", 2_000 * "x")


@pytest.mark.parametrize(("group", "handler"), [("other", "invoice"), ("shop", "other")])
def test_a_record_of_another_group_or_handler_is_refused(group: str, handler: str) -> None:
    with pytest.raises(RetryHeadersError, match="written by handler 'invoice' of group 'shop', and handler"):
        read_headers(STATE.headers(), group, handler)


@pytest.mark.parametrize("missing", [key for key, _ in STATE.headers() if not key.endswith("timestamp")])
def test_a_missing_header_is_named(missing: str) -> None:
    headers = [header for header in STATE.headers() if header[0] != missing]
    named = "__retry.group" if missing == "__retry.group" else missing
    with pytest.raises(RetryHeadersError, match=rf"the header {re.escape(named)} of the retry topic is missing"):
        read_headers(headers, "shop", "invoice")


@pytest.mark.parametrize("wrong", [b"", b"-1", b"+1", b"1_0", b"1.5", b"soon", "²".encode(), b"9223372036854775808"])
@pytest.mark.parametrize("name", ["due", "attempts", "origin.offset", "origin.timestamp"])
def test_a_broken_number_is_named_with_its_value(name: str, wrong: bytes) -> None:
    headers = [(key, wrong if key == f"__retry.{name}" else value) for key, value in STATE.headers()]
    with pytest.raises(
        RetryHeadersError, match=rf"the header __retry\.{re.escape(name)} of the retry topic is '.*', and not"
    ):
        read_headers(headers, "shop", "invoice")


@pytest.mark.parametrize(("added", "text"), [(b"1", "is repeated"), (None, "is null")])
def test_repeated_and_null_headers_are_broken(added: bytes | None, text: str) -> None:
    with pytest.raises(RetryHeadersError, match=text):
        read_headers([*STATE.headers(), ("__retry.due", added)], "shop", "invoice")


def test_a_record_without_retry_headers_is_broken() -> None:
    with pytest.raises(RetryHeadersError, match=r"the header __retry\.group of the retry topic is missing"):
        read_headers([("a", b"1")], "shop", "invoice")
    assert own_headers([("a", b"1")]) == [("a", b"1")]
