"""What ordinary heartbeats cost does not depend on the number of members and partitions."""

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType

from tests.support.broker.consumer_groups import Consumers, as_owned

SMALL, LARGE = 2, 200
MOST_CALLS = 125


def calls_of(operation: Callable[[], object]) -> int:
    """How many functions an operation calls."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        operation()
    finally:
        sys.setprofile(None)
    return calls


def settled(members: int) -> Consumers:
    """A stable group with two partitions for each member."""
    consumers = Consumers(max_size=members)
    consumers.topics.create("t", 2 * members)
    epochs = {f"m{number}": 0 for number in range(members)}
    for member_id in epochs:
        epochs[member_id] = consumers.join(member_id, "t").member_epoch
    for _ in range(3):
        for member_id, epoch in epochs.items():
            response = consumers.beat(member_id, epoch)
            owned = as_owned(response)
            if owned is not None:
                response = consumers.beat(member_id, response.member_epoch, owned)
            epochs[member_id] = response.member_epoch
    assert set(epochs.values()) == {members + 1}
    return consumers


def test_a_heartbeat_that_changes_nothing_is_cheap() -> None:
    found = {}
    for members in (SMALL, LARGE):
        consumers = settled(members)
        consumers.beat("m0", members + 1)
        found[members] = calls_of(partial(consumers.beat, "m0", members + 1))
    assert found[LARGE] <= found[SMALL] + 2
    assert found[LARGE] < MOST_CALLS
