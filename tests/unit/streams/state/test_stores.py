"""Definitions of stores."""

from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.errors import ConfigurationError
from kafka_groups.streams import StreamsBuilder, stores

TEXT = serdes.string


@pytest.mark.parametrize("name", ["", "a b", "x" * 250, ".."])
def test_stores_have_names_that_their_changelogs_can_have(name: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"is not the name of a store"):
        stores.key_value(name, TEXT, TEXT)
    with pytest.raises(ConfigurationError, match=r"is not the name of a store"):
        StreamsBuilder().stream("in", key=TEXT, value=TEXT).group_by_key().count(store=name)


def test_each_kind_of_store_may_be_kept_on_disk() -> None:
    second = timedelta(seconds=1)
    for define in (
        lambda chosen: stores.key_value("seen", TEXT, TEXT, persistent=chosen),
        lambda chosen: stores.timestamped_key_value("seen", TEXT, TEXT, persistent=chosen),
        lambda chosen: stores.window("seen", TEXT, TEXT, size=second, retention=second, persistent=chosen),
        lambda chosen: stores.session("seen", TEXT, TEXT, retention=second, persistent=chosen),
        lambda chosen: stores.versioned("seen", TEXT, TEXT, history=second, persistent=chosen),
    ):
        assert [define(chosen).persistent for chosen in (True, False, None)] == [True, False, None]
        with pytest.raises(ConfigurationError, match=r"persistent='disk' is not True, False or None"):
            define("disk")


def test_definitions_have_serdes_and_configs_of_strings() -> None:
    wrong: Any = str
    with pytest.raises(TypeError, match=r"Store 'seen': key=<class 'str'> is not a serde"):
        stores.key_value("seen", wrong, TEXT)
    given: Any
    for given in (5, {"retention.ms": 5}, "compact"):
        with pytest.raises(ConfigurationError, match=r"changelog=.* is not True, False or a mapping"):
            stores.key_value("seen", TEXT, TEXT, changelog=given)


@pytest.mark.parametrize("given", [timedelta(0), timedelta(seconds=-1), timedelta(microseconds=1), 5])
def test_versioned_stores_have_a_history_and_segments_of_whole_milliseconds(given: Any) -> None:
    with pytest.raises(
        ConfigurationError, match=r"history=.* Give at least 1 ms|history=.* (whole milli|not a duration)"
    ):
        stores.versioned("seen", TEXT, TEXT, history=given)
    with pytest.raises(ConfigurationError, match=r"segment="):
        stores.versioned("seen", TEXT, TEXT, history=timedelta(hours=1), segment=given)
    assert stores.versioned("seen", TEXT, TEXT, history=timedelta(hours=1)).segment_ms == 30 * 60_000


def test_the_history_of_a_versioned_store_has_at_most_a_hundred_segments() -> None:
    hour = timedelta(hours=1)
    assert stores.versioned("seen", TEXT, TEXT, history=hour, segment=hour / 100).segment_ms == 36_000
    with pytest.raises(
        ConfigurationError, match=r"segment=.* divides history=.* into more than 100 .* at least 36001 ms"
    ):
        stores.versioned("seen", TEXT, TEXT, history=hour + timedelta(milliseconds=1), segment=hour / 100)
