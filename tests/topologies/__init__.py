"""Topologies whose behaviour Kafka Streams decides: its own TopologyTestDriver says what comes out of each."""
