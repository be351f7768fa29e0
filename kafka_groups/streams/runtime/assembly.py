"""Puts a worker together with librdkafka's clients and a member of the group."""

from collections.abc import Mapping
from typing import Any

from kafka_groups.data_plane.streams_plane import LibrdkafkaPlane
from kafka_groups.net.clock import SystemClock
from kafka_groups.streams.member.member import StreamsGroupMember
from kafka_groups.streams.member.rules.task_offsets import TaskPosition
from kafka_groups.streams.runtime.plane import BlockingMembership
from kafka_groups.streams.runtime.settings import WorkerSettings
from kafka_groups.streams.runtime.worker import StreamsWorker
from kafka_groups.streams.runtime.worker_thread import RunningWorker
from kafka_groups.streams.topology.internal_topics import group_topology
from kafka_groups.types import TaskId

__all__ = ["assembled_worker"]


def assembled_worker(
    settings: WorkerSettings, connection: Mapping[str, Any], process_id: str | None = None, number: int = 1
) -> RunningWorker:
    """Return a worker that has not joined its group yet.

    Args:
        settings: The application.
        connection: Keys of its clients.
        process_id: The id of the process, which all its workers have.
        number: Which worker of the process this is, from 1.

    Raises:
        ConfigurationError: A key is invalid.
    """
    application_id = settings.tasks.application_id
    made: list[StreamsWorker] = []

    def positions() -> Mapping[TaskId, TaskPosition]:
        return made[0].positions() if made else {}

    member = StreamsGroupMember(
        connection,
        application_id=application_id,
        topology=group_topology(settings.tasks.topology, application_id),
        process_id=process_id,
        number=number,
        task_offsets=positions,
    )
    clients = {**connection, "isolation.level": "read_uncommitted"}
    plane = LibrdkafkaPlane(clients, {**connection, "isolation.level": "read_committed"}, connection, application_id)
    worker = StreamsWorker(settings, plane, BlockingMembership(member), SystemClock())
    made.append(worker)
    return RunningWorker(worker, plane)
