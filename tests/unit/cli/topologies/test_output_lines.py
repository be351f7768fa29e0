"""Records of output topics as lines of JSON, and those that have none."""

import json
from typing import Any

import click
import pytest

from kafka_groups import serdes
from kafka_groups.cli.topologies.output_lines import OutputLines
from kafka_groups.serdes import Serde
from kafka_groups.streams import StreamsBuilder
from kafka_groups.testing.topology_driver import CapturedRecord

PICKY: Serde[str] = serdes.of(str, str.encode, lambda data: data.decode("ascii"))
ANY: Serde[object] = serdes.of(object, lambda value: b"", lambda data: {"bytes": data} if data else float("nan"))
SURROGATE: Serde[object] = serdes.of(object, lambda value: b"x", lambda data: "\ud800")


def lines_of(value: Serde[Any], *, is_chosen: bool = False) -> OutputLines:
    """The lines of a topology that counts, and writes values with this serde."""
    builder = StreamsBuilder()
    posts = builder.stream("posts", key=serdes.string, value=serdes.string)
    counts = posts.group_by(lambda _, post: post, key=serdes.string).count(store="counts")
    counts.to_stream().to("counts")
    posts.to((lambda key, value, context: key) if is_chosen else "copies", value=value)
    return OutputLines(builder.build().graph, "app")


def record(topic: str, key: bytes | None, value: bytes | None, *headers: tuple[str, bytes | None]) -> CapturedRecord:
    return CapturedRecord(topic, 0, key, value, 5, headers)


def test_records_are_lines() -> None:
    lines = lines_of(serdes.bytes_)
    assert (
        lines.line(record("copies", "ä".encode(), None))
        == '{"topic": "copies", "key": "ä", "value": null, "timestamp_ms": 5}'
    )
    line = lines.line(record("copies", None, b"\xff", ("h", b"x")))
    assert json.loads(line or "") == {
        "topic": "copies",
        "key": None,
        "value": {"base64": "/w=="},
        "timestamp_ms": 5,
        "headers": [["h", "x"]],
    }


@pytest.mark.parametrize("topic", ["app-counts-repartition", "app-counts-changelog"])
def test_internal_topics_have_no_lines(topic: str) -> None:
    assert lines_of(serdes.string).line(record(topic, b"a", b"b")) is None


def test_topics_that_are_chosen_have_the_serdes_of_their_sink() -> None:
    lines = lines_of(serdes.int32, is_chosen=True)
    chosen = json.loads(lines.line(record("any", b"a", bytes(4))) or "")
    fixed = json.loads(lines.line(record("counts", b"a", bytes(8))) or "")
    assert [(each["topic"], each["value"]) for each in (chosen, fixed)] == [("any", 0), ("counts", 0)]


@pytest.mark.parametrize(
    ("serde", "data", "reason"),
    [
        (PICKY, b"\xff", "serdes.of(str) cannot deserialise"),
        (ANY, b"x", "Object of type bytes is not JSON serializable"),
        (SURROGATE, b"x", "'utf-8' codec can't encode"),
        (ANY, b"", "Out of range float values are not JSON compliant"),
    ],
)
def test_values_that_have_no_json(serde: Serde[Any], data: bytes, reason: str) -> None:
    with pytest.raises(click.ClickException) as refused:
        lines_of(serde).line(record("copies", b"a", data))
    assert refused.value.message.startswith("A record of topic 'copies' cannot be shown as JSON: ")
    assert reason in refused.value.message
