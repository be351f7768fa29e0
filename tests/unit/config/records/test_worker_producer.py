"""The keys of a worker's producer."""

import pytest

from kafka_groups.config.clients.share import share_consumer_config
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.config.records.worker_producer import worker_producer_config
from kafka_groups.errors import ConfigurationError

CONSUMER = {"bootstrap.servers": "localhost:9092", "request_timeout_ms": 7_000}
CONFIG = share_consumer_config(CONSUMER, group_id="group")


def test_records_wait_for_no_others_and_times_are_those_of_the_consumers() -> None:
    assert worker_producer_config({}, CONFIG) == ProducerConfig(linger_ms=0, request_timeout_ms=7_000)


def test_batches_and_their_compression_can_be_chosen() -> None:
    given = {"producer.batch.size": "20000", "producer_compression_type": "lz4"}
    found = worker_producer_config(given, CONFIG)
    assert (found.batch_size, found.compression_type, found.linger_ms) == (20_000, "lz4", 0)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"producer.linger.ms": 5}, "Unknown configuration key 'producer.linger.ms' (5) for the producer of a worker."),
        ({"producer.compression.typ": "lz4"}, "Did you mean 'producer.compression.type'?"),
        ({"producer.compression.type": "brotli"}, "Invalid value 'brotli' for producer.compression.type"),
        ({"producer_batch_size": 0}, "Invalid value 0 for producer_batch_size"),
    ],
)
def test_other_keys_and_values_are_refused(given: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigurationError) as found:
        worker_producer_config(given, CONFIG)
    assert text in str(found.value)
