import click
import pytest

from kafka_groups.cli.records.named_topics import NamedTopic, named_topics


def test_topics_and_partitions() -> None:
    assert named_topics(["orders", "bills:2,0,2"]) == [NamedTopic("orders"), NamedTopic("bills", (0, 2))]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["a b"], "'a b' is not the name of a topic."),
        (["orders:"], "'orders:' is not of the form TOPIC:PARTITION,PARTITION."),
        (["orders:0,x"], "is not of the form"),
        (["orders", "orders:1"], "'orders' is given more than once."),
    ],
)
def test_other_forms_are_refused(texts: list[str], said: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        named_topics(texts)
    assert said in refused.value.message
