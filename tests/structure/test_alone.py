"""Checks in processes of their own: what they raise is raised, and what a process has open is found."""

import os
import socket
import threading
import warnings

import pytest

from tests.support.alone import alone
from tests.support.open_things import OpenThings


def fails() -> None:
    assert OpenThings.now().new() == ["a thing"]


def warns() -> None:
    warnings.warn("take care", stacklevel=1)


def leaks() -> None:
    socket.socket()


@pytest.mark.parametrize(
    ("check", "said"),
    [(fails, "AssertionError"), (warns, "UserWarning: take care"), (leaks, "ResourceWarning: unclosed <socket")],
)
def test_an_error_a_warning_or_a_leak_of_a_check_is_raised(check: object, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        alone(check)  # type: ignore[arg-type]


def finds_descriptors_if_others_have_gone() -> None:
    first = os.pipe()
    before = OpenThings.now()
    assert before.new() == []
    for end in first:
        os.close(end)
    assert before.new() == []
    second = os.pipe()
    assert len(before.new()) == 2
    assert all("pipe:" in each for each in before.new())
    for end in second:
        os.close(end)
    assert before.new() == []


def finds_threads_if_others_have_gone() -> None:
    ends, stays = threading.Event(), threading.Event()
    earlier, later = threading.Thread(target=ends.wait), threading.Thread(target=stays.wait, name="later")
    earlier.start()
    before = OpenThings.now()
    ends.set()
    earlier.join()
    assert before.new() == []
    later.start()
    assert [each for each in before.new() if "later" in each]
    stays.set()
    later.join()
    assert before.new() == []


@pytest.mark.parametrize("check", [finds_descriptors_if_others_have_gone, finds_threads_if_others_have_gone])
def test_what_is_open_is_found(check: object) -> None:
    alone(check)  # type: ignore[arg-type]
