"""Tests of topologies without a broker: `TopologyTestDriver`."""

from kafka_groups.testing.topology_driver.driver import TopologyTestDriver
from kafka_groups.testing.topology_driver.topics import (
    CapturedRecord,
    OutputRecord,
    TestInputTopic,
    TestOutputTopic,
)

__all__ = ["CapturedRecord", "OutputRecord", "TestInputTopic", "TestOutputTopic", "TopologyTestDriver"]
