"""Programs and whole clusters in virtual time, under faults drawn from a seed."""

from kafka_groups.testing.simulation.faults.seeded_faults import SeededFaults
from kafka_groups.testing.simulation.processes import SimulatedProcess
from kafka_groups.testing.simulation.refusals import SimulationUnsupportedError
from kafka_groups.testing.simulation.report import SimulationFailedError, SimulationReport
from kafka_groups.testing.simulation.run import simulate
from kafka_groups.testing.simulation.virtual_time import (
    Simulation,
    SimulationDeadlockError,
    SimulationTimeLimitError,
    VirtualTimeLoop,
    run_simulated,
)
from kafka_groups.testing.simulation.world import SimulatedWorld

__all__ = [
    "SeededFaults",
    "SimulatedProcess",
    "SimulatedWorld",
    "Simulation",
    "SimulationDeadlockError",
    "SimulationFailedError",
    "SimulationReport",
    "SimulationTimeLimitError",
    "SimulationUnsupportedError",
    "VirtualTimeLoop",
    "run_simulated",
    "simulate",
]
