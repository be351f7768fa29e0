"""The states of consumer groups."""

from kafka_groups.broker.coordinators.groups.consumer.states import CONSUMER_GROUP_TRANSITIONS, ConsumerGroupState


def test_a_group_that_is_gone_stays_away() -> None:
    assert not any(state is ConsumerGroupState.DEAD for state, _ in CONSUMER_GROUP_TRANSITIONS)
