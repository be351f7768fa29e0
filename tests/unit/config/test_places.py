import pytest

from kafka_groups.config.places import checked_topic
from kafka_groups.errors import ConfigurationError


@pytest.mark.parametrize("name", ["orders", "a.b_c-D9", "x" * 249])
def test_names_of_topics(name: str) -> None:
    assert checked_topic(name, "topics") == name


@pytest.mark.parametrize("name", ["", ".", "..", "x" * 250, "a b", "a/b", "é", "orders\n", 7, None])
def test_names_that_no_topic_can_have(name: object) -> None:
    with pytest.raises(ConfigurationError, match=r"^topics: ") as refused:
        checked_topic(name, "topics")
    assert "patterns" not in str(refused.value)


@pytest.mark.parametrize("name", ["orders-.*", "^orders", "(a|b)"])
def test_patterns_are_refused_as_share_groups_have_none(name: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        checked_topic(name, "topics")
    assert repr(name) in str(refused.value)
    assert "249 ASCII letters" in str(refused.value)
    assert "no patterns in Kafka 4.4" in str(refused.value)
