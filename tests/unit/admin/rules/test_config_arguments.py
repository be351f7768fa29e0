"""Bad input for calls about configurations is refused before anything is sent, with the value and the remedy."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups.admin import ConfigResource
from kafka_groups.admin.rules.config_arguments import checked_config_changes, checked_resources
from kafka_groups.errors import ConfigurationError

TOPIC = ConfigResource("topic", "orders")


@pytest.mark.parametrize(
    ("check", "given", "message"),
    [
        (checked_resources, "orders", "resources='orders': give a list, such as [ConfigResource('topic', 'orders')]"),
        (checked_resources, [], "resources is empty: give at least one ConfigResource"),
        (
            checked_resources,
            ["orders"],
            "resources: 'orders' is not a ConfigResource: give one, such as ConfigResource(",
        ),
        (checked_resources, [ConfigResource("group", "")], "resources: the name of a group: '' is not a name"),
        (
            checked_resources,
            [ConfigResource("broker", "one")],
            "resources: 'one' is not a broker: give its node id as text, such as '1', or '' for all brokers",
        ),
        (checked_resources, [ConfigResource("broker", 1)], "resources: 1 is not a broker: give its node id as text"),  # type: ignore[arg-type]
        (checked_config_changes, {}, "changes={}: give a dictionary of changes by resource, such as {ConfigResource("),
        (checked_config_changes, {TOPIC: {}}, "changes of topic orders: {} is not a dictionary of values by name"),
        (
            checked_config_changes,
            {TOPIC: {"retention.ms": 5}},
            "changes of topic orders: retention.ms=5 is not text: give '5'",
        ),
    ],
)
def test_refusals_name_the_value_and_the_remedy(check: Callable[[Any], object], given: object, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check(given)
    assert str(caught.value).startswith(message)


def test_a_kind_that_does_not_exist() -> None:
    with pytest.raises(ConfigurationError) as caught:
        ConfigResource("brokers", "1")  # type: ignore[arg-type]
    assert str(caught.value).startswith("kind='brokers': use one of 'topic', 'broker', 'group'")


def test_what_is_right_is_passed_on() -> None:
    everyone = ConfigResource("broker", "")
    assert checked_resources([TOPIC, everyone, TOPIC]) == (TOPIC, everyone)
    changes = {TOPIC: {"retention.ms": None}}
    assert checked_config_changes(changes) == changes
    assert [str(each) for each in (TOPIC, everyone, ConfigResource("broker", "1"))] == [
        "topic orders", "all brokers", "broker 1"
    ]  # fmt: skip
