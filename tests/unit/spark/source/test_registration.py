"""Which releases of Spark the source takes, and what its readers carry."""

import pickle
import sys
from typing import Any

import pytest
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from kafka_groups.errors import ConfigurationError
from kafka_groups.spark.source.data_source import KafkaShareDataSource
from kafka_groups.spark.source.reader import ShareStreamReader
from kafka_groups.spark.source.registration import check_version, register

OPTIONS = {"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.group.id": "g", "subscribe": "t"}
KEYS_ONLY = StructType([StructField("key", BinaryType())])


class FakeSession:
    """A session of some release, which keeps what is registered."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.registered: list[Any] = []
        self.dataSource = self
        self.sparkContext = self
        self.master, self.pythonExec = "local[1]", sys.executable

    def register(self, source: Any) -> None:
        self.registered.append(source)


@pytest.mark.parametrize("version", ["3.5.6", "4.0.4", "4.1.4"])
def test_releases_that_do_not_say_where_a_batch_starts_are_refused(version: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"PySpark is {version}.*4\.2 or newer.*pip install.*ShareWorkers"):
        check_version("PySpark", version)
    session: Any = FakeSession(version)
    with pytest.raises(ConfigurationError, match="the Spark of this session"):
        register(session)
    assert session.registered == []


@pytest.mark.parametrize("version", ["4.2.0", "4.3.0", "4.10.1", "5.0.0.dev1"])
def test_newer_releases_are_taken(version: str) -> None:
    session: Any = FakeSession(version)
    register(session)
    assert [source.name() for source in session.registered] == ["kafka-share"]


def test_what_goes_to_tasks_holds_no_options() -> None:
    reader = KafkaShareDataSource({**OPTIONS, "kafka.client.id": "Sesame"}).streamReader(schema=KEYS_ONLY)
    pickled = pickle.dumps(reader)
    assert b"Sesame" not in pickled
    assert isinstance(pickle.loads(pickled), ShareStreamReader)


def test_stopping_a_reader_that_never_began_does_nothing() -> None:
    KafkaShareDataSource(OPTIONS).streamReader(schema=KEYS_ONLY).stop()


def test_a_schema_of_other_columns_is_refused() -> None:
    other = StructType([StructField("key", LongType())])
    reader = KafkaShareDataSource(OPTIONS).streamReader(schema=other)
    with pytest.raises(ConfigurationError, match="the schema has key bigint"):
        reader.initialOffset()


def test_what_is_no_stream_to_read_is_refused() -> None:
    source = KafkaShareDataSource(OPTIONS)
    with pytest.raises(ConfigurationError, match=r"drain\(spark, .*availableNow=True.*ShareWorkers\.run_until"):
        source.reader(schema=KEYS_ONLY)
    for write in (source.writer, source.streamWriter):
        with pytest.raises(ConfigurationError, match="KafkaSink"):
            write(KEYS_ONLY, False)
