"""What a test leaves open is found, and what earlier tests let go meanwhile is not taken for it."""

import os
import threading

from tests.support.open_things import OpenThings


def test_new_descriptors_are_found_even_if_others_have_gone() -> None:
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


def test_new_threads_are_found_even_if_others_have_gone() -> None:
    ends = threading.Event()
    earlier = threading.Thread(target=ends.wait, name="earlier")
    earlier.start()
    before = OpenThings.now()
    ends.set()
    earlier.join()
    assert before.new() == []
    stays = threading.Event()
    later = threading.Thread(target=stays.wait, name="later")
    later.start()
    assert [each for each in before.new() if "later" in each]
    stays.set()
    later.join()
    assert before.new() == []
