"""Questions about partitions, and each of librdkafka's own errors: which are asked again, which may pass."""

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.librdkafka.failures import LOCAL, failure_of
from kafka_groups.librdkafka.offset_queries import bounds_of
from kafka_groups.types import TopicPartition

PLACE = TopicPartition("t", 0)
STALE = {KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC, KafkaError._NOENT}


class FakeConsumer(Consumer):
    """Fails with a code for some times."""

    def __init__(self, code: int, times: int) -> None:
        self.code = code
        self.times = times
        self.refreshed = 0

    def _fail(self) -> None:
        if self.times:
            self.times -= 1
            raise KafkaException(KafkaError(self.code))

    def get_watermark_offsets(self, *_args: object, **_kwargs: object) -> tuple[int, int]:
        self._fail()
        return 0, 5

    def list_topics(self, *_args: object, **_kwargs: object) -> None:
        self.refreshed += 1


def ask_bounds(consumer: Consumer) -> object:
    return bounds_of(consumer, PLACE, 1.0)


@pytest.mark.parametrize("code", sorted(LOCAL))
def test_a_client_with_old_metadata_asks_again_and_other_errors_pass_by_the_table(code: int) -> None:
    once = FakeConsumer(code, 1)
    if code in STALE:
        assert ask_bounds(once)
        assert once.refreshed == 1
    else:
        with pytest.raises(KafkaGroupsError):
            ask_bounds(once)
        assert once.refreshed == 0
    with pytest.raises(KafkaGroupsError) as raised:
        ask_bounds(FakeConsumer(code, 2))
    assert raised.value.retriable is failure_of(KafkaError(code), "").retriable
