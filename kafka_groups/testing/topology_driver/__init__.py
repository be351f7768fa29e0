"""Tests of topologies without a broker: `TopologyTestDriver`."""

from kafka_groups.testing.topology_driver.topics import (
    CapturedRecord,
    OutputRecord,
    TestInputTopic,
    TestOutputTopic,
)
from kafka_groups.testing.topology_driver.topology_test_driver import TopologyTestDriver

__all__ = ["CapturedRecord", "OutputRecord", "TestInputTopic", "TestOutputTopic", "TopologyTestDriver"]
