"""Java's hashes of keys are still what was recorded."""

from pathlib import Path

import pytest

from tests.recording.java_key_hashes import java_hash, keys, recorded
from tests.support.kafka.java_program import JavaProgram
from tests.support.kafka.kafka_classpath import kafka_classpath, libs_or_skip

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]


def test_java_answers_what_was_recorded(tmp_path: Path) -> None:
    with JavaProgram("KeyHashes", tmp_path, kafka_classpath(libs_or_skip())) as driver:
        assert {name: java_hash(driver, key) for name, key in keys()} == recorded()
