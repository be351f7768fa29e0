"""Tests of topologies without a broker: `TopologyTestDriver`."""

from kafka_groups.testing.topology_driver.driver import TopologyTestDriver
from kafka_groups.testing.topology_driver.topics import OutputRecord, TestInputTopic, TestOutputTopic

__all__ = ["OutputRecord", "TestInputTopic", "TestOutputTopic", "TopologyTestDriver"]
