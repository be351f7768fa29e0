"""What a real Kafka is asked to be before it starts. Starting one is tested in `tests/integration`."""

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.testing.kafka_process import KafkaProcess


@pytest.mark.parametrize("version", ["", "4", "4.4", "latest", "v4.4.0"])
def test_a_version_that_is_not_a_release_is_refused(version: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^Invalid version of Kafka '{version}': name a release, such as"):
        KafkaProcess(version)


@pytest.mark.parametrize("version", ["0.11.0", "2.8.2", "3.6.2"])
def test_a_release_that_is_too_old_is_refused(version: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^KafkaProcess cannot start Kafka {version}: .* from 3\.7 on\.$"):
        KafkaProcess(version)


def test_a_release_that_takes_no_features_refuses_them() -> None:
    with pytest.raises(
        ConfigurationError, match=r"3\.8\.1 .* without features: leave out \{'transaction.version': 1\}"
    ):
        KafkaProcess("3.8.1", features={"transaction.version": 1})
    assert KafkaProcess("3.9.1", features={"transaction.version": 1}).version == "3.9.1"
