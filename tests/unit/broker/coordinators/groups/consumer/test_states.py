"""The states of consumer groups."""

import pytest

from kafka_groups.broker.coordinators.groups.consumer.states import (
    CONSUMER_GROUP_TRANSITIONS,
    ConsumerGroupEvent,
    ConsumerGroupState,
    next_consumer_group_state,
)
from kafka_groups.errors import IllegalStateError


@pytest.mark.parametrize("state", ConsumerGroupState)
@pytest.mark.parametrize("event", ConsumerGroupEvent)
def test_every_pair_is_in_the_table_or_refused(state: ConsumerGroupState, event: ConsumerGroupEvent) -> None:
    expected = CONSUMER_GROUP_TRANSITIONS.get((state, event))
    if expected is None:
        with pytest.raises(IllegalStateError, match=event.value):
            next_consumer_group_state(state, event)
    else:
        assert next_consumer_group_state(state, event) is expected


def test_a_group_that_is_gone_stays_away() -> None:
    assert not any(state is ConsumerGroupState.DEAD for state, _ in CONSUMER_GROUP_TRANSITIONS)
