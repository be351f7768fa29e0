"""The test kit for users: an embedded cluster, drivers, simulations, a real Kafka, connection faults, pytest fixtures.

Each name is imported on first use.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_groups.lazy_exports import import_on_first_use

if TYPE_CHECKING:
    from kafka_groups.broker.cluster import EmbeddedCluster
    from kafka_groups.broker.group_view import EndedDelivery, InFlightRecords
    from kafka_groups.broker.observed import ObservedGroup
    from kafka_groups.broker.produced import ProducedRecord
    from kafka_groups.broker.queued_letters import QueuedLetter
    from kafka_groups.broker.runtime.log_cleaner import CleanedLog
    from kafka_groups.broker.security import BrokerSecurity
    from kafka_groups.broker.share_partitions.record_state import RecordState
    from kafka_groups.net.tls import ServerTls
    from kafka_groups.testing.fast_settings import FAST_SETTINGS
    from kafka_groups.testing.fault_proxy import Fault, FaultAction, FaultProxy
    from kafka_groups.testing.kafka_container import KafkaContainer
    from kafka_groups.testing.kafka_process import KafkaProcess
    from kafka_groups.testing.simulation.faults.seeded_faults import SeededFaults
    from kafka_groups.testing.simulation.processes import SimulatedProcess
    from kafka_groups.testing.simulation.report import SimulationFailedError, SimulationReport
    from kafka_groups.testing.simulation.run import simulate
    from kafka_groups.testing.simulation.streams.inputs import SimulatedInput
    from kafka_groups.testing.simulation.streams.simulated_application import StreamsSimulation, simulate_streams
    from kafka_groups.testing.simulation.world import SimulatedWorld
    from kafka_groups.testing.worker_driver import (
        DeliveryState,
        Outcome,
        RawValue,
        WorkerDelivery,
        WorkerTestDriver,
        WorkerTestError,
        WrittenRecord,
    )

__all__ = [
    "FAST_SETTINGS",
    "BrokerSecurity",
    "CleanedLog",
    "DeliveryState",
    "EmbeddedCluster",
    "EndedDelivery",
    "Fault",
    "FaultAction",
    "FaultProxy",
    "InFlightRecords",
    "KafkaContainer",
    "KafkaProcess",
    "ObservedGroup",
    "Outcome",
    "ProducedRecord",
    "QueuedLetter",
    "RawValue",
    "RecordState",
    "SeededFaults",
    "ServerTls",
    "SimulatedInput",
    "SimulatedProcess",
    "SimulatedWorld",
    "SimulationFailedError",
    "SimulationReport",
    "StreamsSimulation",
    "WorkerDelivery",
    "WorkerTestDriver",
    "WorkerTestError",
    "WrittenRecord",
    "simulate",
    "simulate_streams",
]

_MODULES = MappingProxyType({
    "FAST_SETTINGS": "fast_settings",
    "BrokerSecurity": ".broker.security",
    "WrittenRecord": "worker_driver",
    "CleanedLog": ".broker.runtime.log_cleaner",
    "DeliveryState": "worker_driver",
    "EmbeddedCluster": ".broker.cluster",
    "EndedDelivery": ".broker.group_view",
    "Fault": "fault_proxy",
    "FaultAction": "fault_proxy",
    "FaultProxy": "fault_proxy",
    "InFlightRecords": ".broker.group_view",
    "SimulatedInput": "simulation.streams.inputs",
    "KafkaContainer": "kafka_container",
    "KafkaProcess": "kafka_process",
    "ObservedGroup": ".broker.observed",
    "Outcome": "worker_driver",
    "ProducedRecord": ".broker.produced",
    "QueuedLetter": ".broker.queued_letters",
    "RawValue": "worker_driver",
    "RecordState": ".broker.share_partitions.record_state",
    "SeededFaults": "simulation.faults.seeded_faults",
    "ServerTls": ".net.tls",
    "SimulatedProcess": "simulation.processes",
    "SimulatedWorld": "simulation.world",
    "SimulationFailedError": "simulation.report",
    "SimulationReport": "simulation.report",
    "StreamsSimulation": "simulation.streams.simulated_application",
    "WorkerDelivery": "worker_driver",
    "WorkerTestDriver": "worker_driver",
    "WorkerTestError": "worker_driver",
    "simulate": "simulation.run",
    "simulate_streams": "simulation.streams.simulated_application",
})  # fmt: skip

if not TYPE_CHECKING:  # so that a type checker reports a name that does not exist
    __getattr__, __dir__ = import_on_first_use(__name__, _MODULES)
