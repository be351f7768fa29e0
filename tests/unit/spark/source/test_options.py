"""Options of the source: no case, Kafka's keys with their prefix, a properties file, errors that say what to do."""

from pathlib import Path
from typing import Any

import pytest

from kafka_groups.config.properties import parse_properties
from kafka_groups.errors import ConfigurationError
from kafka_groups.spark.records.schema import RECORD_DDL
from kafka_groups.spark.source.data_source import KafkaShareDataSource
from kafka_groups.spark.source.options import source_option_keys, source_options

NEEDED = {"kafka.bootstrap.servers": "a:1,b:2", "kafka.group.id": "g", "subscribe": "orders, payments"}


def test_what_is_given_and_what_is_not() -> None:
    options = source_options({**NEEDED, "MAXBYTESPERBATCH": "32m", "numpartitions": "8", "Kafka.Client.Id": "c"})
    assert options.subscribe == ("orders", "payments")
    assert (options.max_bytes_per_batch, options.num_partitions) == (32 * 1024 * 1024, 8)
    assert (options.max_records_per_batch, options.poll_timeout_ms) == (100_000, 500)
    consumer = options.consumer
    assert consumer.bootstrap_servers == (("a", 1), ("b", 2))
    assert (consumer.group_id, consumer.client_id) == ("g", "c")
    assert (consumer.acknowledgement_mode, consumer.auto_renew) == ("explicit", True)
    assert consumer.max_poll_interval_ms == 2**31 - 1, "Spark decides how long a batch takes"
    assert consumer.max_poll_records == options.max_records_per_batch


def test_the_group_has_two_spellings() -> None:
    by_other = {name: value for name, value in NEEDED.items() if name != "kafka.group.id"}
    assert source_options({**by_other, "kafka.share.group.id": "h"}).consumer.group_id == "h"
    with pytest.raises(ConfigurationError, match="give one of them"):
        source_options({**NEEDED, "kafka.share.group.id": "h"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"maxRecordPerBatch": "5"}, r"maxrecordperbatch='5' is not an option .* did you mean maxRecordsPerBatch\?"),
        ({"bootstrap.servers": "a:1"}, r"write it with its prefix: kafka\.bootstrap\.servers"),
        (
            {"path": "x"},
            r"path='x' is not an option of the source kafka-share; remove it; there are available.* configFile",
        ),
        ({"password": "Sesame"}, "password=a hidden value"),
        ({"kafka.bootstrap.server": "a:1"}, r"Did you mean 'bootstrap\.servers'\?"),
        ({"kafka.auto.offset.reset": "earliest"}, r"share\.auto\.offset\.reset"),
        (
            {"kafka.share.acknowledgement.mode": "implicit"},
            "acknowledges a batch when Spark has finished it; remove it",
        ),
        ({"kafka.value.deserializer": "x"}, "cast the column value"),
        ({"maxRecordsPerBatch": "0"}, "Invalid value '0' for maxRecordsPerBatch: below the minimum of 1"),
        ({"maxBytesPerBatch": "9x"}, "Use a number of bytes, or a size such as 64m"),
        ({"maxBytesPerBatch": "1g"}, "above the maximum"),
        ({"subscribe": " , "}, "Invalid value ' , ' for subscribe: it names no topic"),
        ({"configFile": "/none"}, "configFile is '/none': it cannot be read on this host"),
        ({"kafka.sasl.jaas.config": "Sesame"}, r"\(hidden\) for sasl\.jaas\.config"),
        ({"startingOffsets": "earliest"}, "set the group configuration share.auto.offset.reset to earliest"),
        ({"subscribePattern": "or.*"}, "list the topics in subscribe"),
        ({"assign": "{}"}, "is an option of Spark's source kafka, not of kafka-share: the group assigns"),
        ({"includeHeaders": "perhaps"}, "includeHeaders"),
    ],
)
def test_errors_name_the_option_the_value_and_the_remedy(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as error:
        source_options({**NEEDED, **given})
    assert "Sesame" not in str(error.value)


@pytest.mark.parametrize("missing", sorted(NEEDED))
def test_what_is_missing_is_named(missing: str) -> None:
    given = {name: value for name, value in NEEDED.items() if name != missing}
    name = missing.removeprefix("kafka.")
    with pytest.raises(ConfigurationError, match=f"{name}.* is missing|Missing .*{name}"):
        source_options(given)


def test_secrets_do_not_show() -> None:
    tls = {f"kafka.ssl.{name}.location": "/pem" for name in ("certificate", "key")}
    options = source_options({**NEEDED, **tls, "kafka.security.protocol": "ssl", "kafka.ssl.key.password": "Sesame"})
    assert options.consumer.ssl_key_password == "Sesame"
    assert "Sesame" not in repr(options)


def test_a_properties_file_is_read_and_options_go_before_it(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("# a client\nbootstrap.servers=file:1\nkafka.group.id = in-file\nclient.rack: r1\n")
    options = source_options({"configFile": str(path), "subscribe": "t", "kafka.group.id": "g"}).consumer
    assert (options.bootstrap_servers, options.group_id, options.client_rack) == ((("file", 1),), "g", "r1")
    path.write_text("bootstrap.servers=file:1\ngroup.idd=x\n")
    with pytest.raises(ConfigurationError, match=r"(?s)configuration key 'group\.idd' .* a line of its configFile may"):
        source_options({"configFile": str(path), "subscribe": "t"})


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("a=1\nb: 2\nc 3\n d = 4 ", {"a": "1", "b": "2", "c": "3", "d": "4 "}),
        ("# no\n! no\n\n   \na=#yes", {"a": "#yes"}),
        ("a=one,\\\n   two\nb=x\\\\\nc=3", {"a": "one,two", "b": "x\\", "c": "3"}),
        ("key\\ with\\:marks=\\u00e9\\t\\q", {"key with:marks": "\u00e9\tq"}),
        ("a=1\r\nb=2\ra=3", {"a": "3", "b": "2"}),
        ("empty=\nalone", {"empty": "", "alone": ""}),
        ("a=b=c:d", {"a": "b=c:d"}),
        ("last=1\\", {"last": "1"}),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, entries: dict[str, str]) -> None:
    assert parse_properties(text) == entries


def test_every_option_is_documented() -> None:
    for key in source_option_keys().values():
        assert key.doc.endswith("."), key.name
        default: Any = key.default
        assert key.required or default is None or key.parse(str(default)) == default


def test_options_of_sparks_kafka_that_mean_the_same_are_taken() -> None:
    given = {"maxOffsetsPerTrigger": "9", "minPartitions": "3", "includeHeaders": "false"}
    options = source_options({**NEEDED, **given})
    assert (options.max_records_per_batch, options.num_partitions, options.include_headers) == (9, 3, False)
    schema = KafkaShareDataSource({**NEEDED, **given}).schema()
    assert "headers" not in schema
    assert KafkaShareDataSource(NEEDED).schema() == RECORD_DDL


def test_topics_are_not_created_by_reading_them_unless_that_is_asked_for() -> None:
    assert source_options(NEEDED).consumer.allow_auto_create_topics is False
    asked = {**NEEDED, "kafka.allow.auto.create.topics": "true"}
    assert source_options(asked).consumer.allow_auto_create_topics is True
