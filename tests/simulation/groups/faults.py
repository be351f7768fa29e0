"""The faults of all simulations that strike groups: their coordinators most of all."""

from kafka_groups.testing.simulation import SeededFaults

__all__ = ["faults_for"]


def faults_for(seconds: int) -> SeededFaults:
    """Faults for so many virtual seconds."""
    return SeededFaults(
        seconds=seconds,
        leader_moved=0,
        slow_broker=2,
        coordinator_moved=3,
        broker_killed=2,
        process_killed=2,
        refused_append=3,
        half_dead_connection=2,
    )
