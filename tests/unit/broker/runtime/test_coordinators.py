"""How the coordinators of a broker are put together."""

import random

import pytest

from kafka_groups.broker.metadata.placement import SHARE_STATE_TOPIC
from kafka_groups.errors import UnknownServerError
from kafka_groups.protocol.messages.config_resources import TOPIC_RESOURCE
from kafka_groups.types import random_uuid
from tests.support.broker.share_state import ShareStates


def test_a_change_of_the_largest_batch_takes_effect_with_the_next_append() -> None:
    states = ShareStates()
    key = ("g", random_uuid(random.Random(3)), 0)
    for most, takes in (("100", False), (None, True), ("100", False)):
        states.metadata.alter_configs(TOPIC_RESOURCE, SHARE_STATE_TOPIC, {"max.message.bytes": most})
        if takes:
            states.initialize(key, 1, 0)
        else:
            with pytest.raises(UnknownServerError, match="does not fit into a batch of 100 bytes"):
                states.initialize(key, 2, 0)
    state = states.state(key)
    assert state is not None
    assert state.state_epoch == 1
