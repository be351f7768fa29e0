"""What several integration tests share."""

from collections.abc import Iterator

import pytest

from tests.support.kafka.kafka_classpath import tools_classpath_or_skip
from tests.support.kafka.kafka_tools import KafkaTools


@pytest.fixture(scope="session")
def kafka_tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaTools]:
    """Kafka's own command-line tools, in one JVM for the whole run."""
    classpath = tools_classpath_or_skip()
    with KafkaTools(tmp_path_factory.mktemp("kafka-tools"), classpath) as tools:
        yield tools
