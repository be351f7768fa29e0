"""What a constructor is given."""

import random
from typing import Any

import pytest

from kafka_groups.config.clients.streams_member import StreamsMemberConfig, streams_member_config
from kafka_groups.errors import ConfigurationError
from kafka_groups.protocol.messages.streams_group_parts import KeyValue, UserEndpoint
from kafka_groups.streams.member.member_arguments import described
from tests.unit.streams.member.clusters import TOPOLOGY


def config(**keywords: Any) -> StreamsMemberConfig:
    return streams_member_config(bootstrap_servers="k:1", application_id="app", **keywords)


def test_everything_about_the_member_is_told() -> None:
    given = config(
        group_instance_id="worker",
        application_server="me:80",
        client_rack="r",
        client_tags={"zone": "a"},
        max_poll_interval_ms=7_000,
    )
    description = described(given, TOPOLOGY, "process", 3, random.Random(1))
    assert (description.group_id, description.process_id, description.instance_id) == ("app", "process", "worker-3")
    assert (description.rack_id, description.rebalance_timeout_ms) == ("r", 7_000)
    assert description.user_endpoint == UserEndpoint(host="me", port=80)
    assert description.client_tags == (KeyValue(key="zone", value="a"),)


def test_a_process_id_is_made_up_if_none_is_given() -> None:
    rng = random.Random(1)
    first, second = (described(config(), TOPOLOGY, None, 1, rng) for _ in range(2))
    assert first.process_id != second.process_id
    assert (first.instance_id, first.rack_id, first.user_endpoint) == (None, None, None)


@pytest.mark.parametrize("number", [0, -1, True, "1", 100_001])
def test_members_are_counted_from_one(number: Any) -> None:
    with pytest.raises(ConfigurationError, match="Use a whole number from 1 to 100000"):
        described(config(), TOPOLOGY, None, number, random.Random(1))


def test_a_topology_is_built() -> None:
    topology: Any = ["flights"]
    with pytest.raises(ConfigurationError, match="Make one with a GroupTopologyBuilder"):
        described(config(), topology, None, 1, random.Random(1))


def test_a_process_id_is_not_empty() -> None:
    with pytest.raises(ConfigurationError, match="process_id: '' is not a name"):
        described(config(), TOPOLOGY, "", 1, random.Random(1))
