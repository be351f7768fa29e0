"""The kept answers about keys and partitions are still what Kafka's classes say."""

import pytest

from tests.recording.coordinator_keys import kafkas_answers, load_keys
from tests.support.kafka.kafka_classpath import libs_or_skip

pytestmark = pytest.mark.real_kafka


def test_kept_answers_are_kafkas() -> None:
    libs_or_skip()
    assert kafkas_answers() == load_keys()
