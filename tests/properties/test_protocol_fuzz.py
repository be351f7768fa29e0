"""Damaged messages are refused by an error of ours; they neither end the process nor make it allocate."""

import json
import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_groups.errors import MalformedFrameError, UnknownApiError
from kafka_groups.protocol.codec import decode_request, decode_request_header
from tests.support.requests.protocol_messages import SHAPES

MEGABYTE = 1 << 20


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_damaged_messages_of_all_apis_are_refused_in_bounded_memory() -> None:
    # A process of its own: a length that slipped through would abort it, and a peak of memory belongs to a process.
    child = subprocess.run(
        [sys.executable, "-m", "tests.support.requests.protocol_fuzz", "20261121", "2"],
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip

    assert child.returncode == 0, f"it ended with {child.returncode}:\n{child.stderr[-3000:]}"
    outcome = json.loads(child.stdout)
    assert outcome["refused"] > 40 * len(SHAPES)
    assert outcome["read"] > 0  # a flipped bit in a number is still a number
    assert outcome["grown_bytes"] < 64 * MEGABYTE


@given(st.binary(max_size=60))
@example(b"\x00\x4e\x00\x02" + b"\x00" * 4 + b"\xff\xff" + b"\x00" + b"\xff" * 8)
@settings(max_examples=200)
def test_random_bytes_are_no_request(payload: bytes) -> None:
    try:
        header = decode_request_header(payload)
        message = decode_request(payload, header)
    except (MalformedFrameError, UnknownApiError):
        return
    assert type(message).__name__.endswith("Request")
