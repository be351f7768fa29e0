"""Puts a worker together with a data plane and a member of the group."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve

from kafka_groups.net.clock import SystemClock
from kafka_groups.records.engine_plane import EnginePlane
from kafka_groups.streams.engines.interface import EngineFactory
from kafka_groups.streams.engines.machine import boot_id
from kafka_groups.streams.engines.opening import DiskEngines
from kafka_groups.streams.engines.shared_memory import MemoryEngines
from kafka_groups.streams.member.member import StreamsGroupMember
from kafka_groups.streams.member.rules.task_position import TaskPosition
from kafka_groups.streams.runtime.blocking_membership import BlockingMembership
from kafka_groups.streams.runtime.worker import StreamsWorker
from kafka_groups.streams.topology.internal_topics import group_topology
from kafka_groups.streams.topology.matched_topics import pattern_sources
from kafka_groups.streams.workers.configured import ConfiguredApplication
from kafka_groups.streams.workers.group_protocol import membership_of
from kafka_groups.streams.workers.state_directory import application_folder
from kafka_groups.streams.workers.worker_thread import RunningWorker
from kafka_groups.types import TaskId

if TYPE_CHECKING:  # a streams group needs none
    from kafka_groups.streams.engines.dormant_folders import DormantFolders

__all__ = ["assembled_worker"]


def assembled_worker(
    application: ConfiguredApplication, process_id: str | None = None, number: int = 1
) -> RunningWorker:
    """Return a worker that has not joined its group yet.

    Args:
        application: The application.
        process_id: The id of the process, which all its workers have, if its members are dynamic.
        number: Which worker of the process this is, from 1.

    Raises:
        ConfigurationError: A key is invalid.
    """
    config, settings = application.config, application.settings
    made: list[StreamsWorker] = []

    def positions() -> Mapping[TaskId, TaskPosition]:
        return made[0].positions() if made else {}

    graph, configs = settings.tasks.topology, config.topic_configs
    member = StreamsGroupMember(
        config.member,
        topology=group_topology(graph, config.application_id, configs),
        process_id=application.static_process_id or process_id,
        number=number,
        task_offsets=positions,
        _membership_of=membership_of(
            config,
            dormant=_dormant(application),
            sources=pattern_sources(graph, config.application_id, configs),
        ),
    )
    plane = _plane(application, process_id, number)
    membership = BlockingMembership(member)
    worker = StreamsWorker(settings, plane, membership, SystemClock(), _engines(application, number))
    made.append(worker)
    thread_id = f"{config.client_id}-StreamThread-{number}"
    return RunningWorker(
        worker,
        plane,
        thread_id,
        member.metrics,
        endpoints=lambda: member.endpoints,
        plane_metrics=lambda: plane.metrics(thread_id),
        assignor=config.assignor_name,
    )


def _plane(application: ConfiguredApplication, process_id: str | None, number: int) -> EnginePlane:
    is_exactly_once = application.config.is_exactly_once
    transactional_id = application.transactional_id(process_id, number) if is_exactly_once else None
    return EnginePlane(evolve(application.engine_plane, transactional_id=transactional_id))


def _engines(application: ConfiguredApplication, number: int) -> EngineFactory:
    """Return what makes the engines of a worker. The process has the folder of the application."""
    if not application.persistent_stores:
        return MemoryEngines()
    return DiskEngines(
        _folder(application), boot_id(), SystemClock(), application.config.state_cleanup_delay_ms, number
    )


def _dormant(application: ConfiguredApplication) -> "DormantFolders | None":
    """Return what tells the leader of a classic group which state lies on the disk. None: there can be none."""
    if not (application.config.is_classic and application.persistent_stores):
        return None
    from kafka_groups.streams.engines.dormant_folders import DormantFolders  # noqa: PLC0415 - see above

    return DormantFolders(_folder(application), boot_id())


def _folder(application: ConfiguredApplication) -> Path:
    return application_folder(application.config.state_dir, application.config.application_id)
