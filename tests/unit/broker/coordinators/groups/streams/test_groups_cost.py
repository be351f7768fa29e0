"""What ordinary heartbeats cost does not depend on the number of members and tasks."""

from functools import partial

from tests.support.broker.streams_groups import Streams, active
from tests.unit.broker.coordinators.groups.consumer.test_groups_cost import calls_of

SMALL, LARGE = 2, 80
MOST_CALLS = 220


def settled(members: int) -> Streams:
    """A stable group with a task for each member."""
    streams = Streams()
    streams.topics.create("in", members)
    epochs = {f"m{number}": 0 for number in range(members)}
    for member_id in epochs:
        epochs[member_id] = streams.join(member_id).member_epoch
    for _ in range(3):
        for member_id, epoch in epochs.items():
            response = streams.beat(member_id, epoch)
            owned = active(response)
            if owned is not None:
                response = streams.beat(member_id, response.member_epoch, owned)
            epochs[member_id] = response.member_epoch
    assert set(epochs.values()) == {members + 1}
    return streams


def test_a_heartbeat_that_changes_nothing_is_cheap() -> None:
    found = {}
    for members in (SMALL, LARGE):
        streams = settled(members)
        streams.beat("m0", members + 1)
        found[members] = calls_of(partial(streams.beat, "m0", members + 1))
    assert found[LARGE] <= found[SMALL] + 2, found
    assert found[LARGE] < MOST_CALLS, found
