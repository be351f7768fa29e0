"""The test kit for users: an embedded cluster, a real Kafka, connection faults, fixtures for pytest."""

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.group_view import EndedDelivery
from kafka_groups.broker.observed import ObservedGroup
from kafka_groups.broker.security import BrokerSecurity
from kafka_groups.net.tls import ServerTls
from kafka_groups.testing.fast_settings import FAST_SETTINGS
from kafka_groups.testing.fault_proxy import Fault, FaultAction, FaultProxy
from kafka_groups.testing.kafka_container import KafkaContainer
from kafka_groups.testing.kafka_process import KafkaProcess

__all__ = [
    "FAST_SETTINGS",
    "BrokerSecurity",
    "EmbeddedCluster",
    "EndedDelivery",
    "Fault",
    "FaultAction",
    "FaultProxy",
    "KafkaContainer",
    "KafkaProcess",
    "ObservedGroup",
    "ServerTls",
]
