"""Two queries on one `load()` are noticed, a query that is started again is not."""

import os
import subprocess
import sys

from kafka_groups.spark.source.shared_reading import SharedReading

OPTIONS = {"subscribe": "orders", "kafka.group.id": f"g-{os.getpid()}"}
HOLD = """
import sys
from kafka_groups.spark.source.shared_reading import SharedReading
reading = SharedReading(eval(sys.argv[1]), int(sys.argv[2]), 0)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_source_with_the_same_options_is_noticed_once_an_ended_one_would_be_gone() -> None:
    command = [sys.executable, "-c", HOLD, repr(OPTIONS), str(os.getpid())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        second = SharedReading({name.upper(): value for name, value in OPTIONS.items()}, os.getpid(), 0)
        assert not second.is_shared(9_999)
        assert second.is_shared(10_000)
        assert not SharedReading(OPTIONS, os.getpid() + 1, 0).is_shared(10_000), "another application"
        assert not SharedReading({**OPTIONS, "subscribe": "x"}, os.getpid(), 0).is_shared(10_000)
        other.communicate()
    assert not second.is_shared(20_000), "the other one has ended"
    second.close()


def test_a_source_that_stays_when_the_first_has_ended_is_noticed_by_the_next() -> None:
    options = {**OPTIONS, "subscribe": "successors"}
    first, second = SharedReading(options, os.getpid(), 0), SharedReading(options, os.getpid(), 0)
    assert second.is_shared(10_000)
    first.close()
    assert not second.is_shared(20_000)
    third = SharedReading(options, os.getpid(), 20_000)
    assert third.is_shared(30_000), "the file that the first removed is not the one that counts"
    assert not second.is_shared(30_000), "the one that was there first is not at fault"
    second.close()
    assert not third.is_shared(40_000)
    third.close()
