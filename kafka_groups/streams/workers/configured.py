"""From the keys of an application to the settings of its workers and clients."""

import random
import uuid
from collections.abc import Iterable, Mapping
from datetime import timedelta

from attrs import evolve, field, frozen

from kafka_groups.config.clients.streams import StreamsConfig, streams_config
from kafka_groups.config.readers import offset_reset_duration_ms
from kafka_groups.config.settings import KeyTable
from kafka_groups.records.engine_plane import EnginePlaneConfig
from kafka_groups.streams.engines.application_folder import check_installed, fingerprint_of
from kafka_groups.streams.processors.extractors import fail_on_invalid
from kafka_groups.streams.runtime.restore_listeners import RestoreListeners
from kafka_groups.streams.runtime.settings import WorkerSettings
from kafka_groups.streams.tasks.stream_task import TaskSettings
from kafka_groups.streams.topology.internal_topics import group_topology, topic_name
from kafka_groups.streams.topology.matched_topics import matching, refuse_patterns, with_made_up_topics
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.topology import Topology
from kafka_groups.streams.workers.data_plane import check_transaction_timeout, engine_plane_config
from kafka_groups.types import random_uuid

__all__ = ["ConfiguredApplication", "configured_application"]

_TABLE = KeyTable(StreamsConfig)
_TRANSACTION_MS = 100
"""The interval of commits with transactions, if the user gives none: others see records only after a commit."""


@frozen(kw_only=True)
class ConfiguredApplication:
    """An application as its user configured it.

    Attributes:
        config: All keys.
        settings: The limits of its workers, and its topology.
        engine_plane: The configuration of the data plane, without a transactional id.
        random_process_id: An id for a process that needs one and was given no other.
    """

    config: StreamsConfig
    settings: WorkerSettings
    engine_plane: EnginePlaneConfig
    random_process_id: str = field(factory=lambda: str(random_uuid(random.SystemRandom())))

    @property
    def static_process_id(self) -> str | None:
        """The id of a process with static members, the same after each restart. None if they are dynamic.

        With another id, the coordinator would see a change, and compute the assignment again.
        """
        instance = self.config.group_instance_id
        name = f"{self.config.application_id}/{instance}"
        return None if instance is None else str(uuid.uuid5(uuid.NAMESPACE_OID, name))

    def transactional_id(self, process_id: str | None, number: int) -> str:
        """Return the transactional id of a worker.

        A worker that takes the place of another one in its process has its transactional id, and so fences it.

        Args:
            process_id: The id of the process, or None if no other process takes the place of the worker.
            number: Which worker of the process it is.
        """
        process = self.static_process_id or process_id or self.random_process_id
        return f"{self.config.application_id}-{process}-{number}"

    @property
    def persistent_stores(self) -> list[str]:
        """The names of the stores on disk."""
        return [name for name, place in self.settings.tasks.topology.stores.items() if place.definition.persistent]

    @property
    def fingerprint(self) -> str:
        """A text that is another one if the sub-topologies or their topics change."""
        # The topics of patterns come and go, and its sub-topologies stay.
        graph = with_made_up_topics(self.settings.tasks.topology)
        return fingerprint_of(group_topology(graph, self.config.application_id, {}))


def configured_application(
    topology: Topology,
    mapping: Mapping[str, object] | None,
    keywords: Mapping[str, object],
    listeners: RestoreListeners,
) -> ConfiguredApplication:
    """Check the keys of an application, and its topology.

    Raises:
        ConfigurationError: A key is unknown, missing or invalid.
        TopologyError: The topology is empty or contradicts itself.
    """
    config = streams_config(mapping, **keywords)
    _check_topics(topology.graph, config)
    graph = topology.graph.with_default_store(is_persistent=config.default_dsl_store == "lmdb")
    _check_persistent(graph)
    settings = _settings(config, graph, listeners)
    if config.is_exactly_once and not _has_commit_interval({**(mapping or {}), **keywords}):
        settings = evolve(settings, commit_interval_ms=_TRANSACTION_MS)
    return ConfiguredApplication(config=config, settings=settings, engine_plane=_engine_plane(config, settings))


def _check_topics(graph: NodeGraph, config: StreamsConfig) -> None:
    group_topology(graph, config.application_id)
    if not config.is_classic:
        refuse_patterns(graph)
    # Repartition topics have the names that patterns may match only now. Those that the application does not have yet
    # would be created first.
    named = (topic_name(graph, config.application_id, topic) for topic in graph.repartition_topics)
    matching(graph, config.application_id, named)


def _has_commit_interval(given: Iterable[str]) -> bool:
    return any(_TABLE.attribute(name) == "commit_interval_ms" for name in given)


def _engine_plane(config: StreamsConfig, settings: WorkerSettings) -> EnginePlaneConfig:
    plane = engine_plane_config(config)
    if settings.is_exactly_once:
        check_transaction_timeout(plane, settings.commit_interval_ms)
    return plane


def _check_persistent(graph: NodeGraph) -> None:
    persistent = [place for place in graph.stores.values() if place.definition.persistent]
    if persistent:
        check_installed(place.definition.name for place in persistent)


def _settings(config: StreamsConfig, graph: NodeGraph, listeners: RestoreListeners) -> WorkerSettings:
    tasks = TaskSettings(
        topology=graph,
        application_id=config.application_id,
        extractor=config.default_timestamp_extractor or fail_on_invalid,
        cache_max_bytes=config.statestore_cache_max_bytes,
        processing_handler=config.processing_exception_handler,
        deserialization_handler=config.deserialization_exception_handler,
        production_handler=config.production_exception_handler,
        dead_letter_topic=config.errors_dead_letter_queue_topic_name,
    )
    return WorkerSettings(
        tasks=tasks,
        commit_interval_ms=config.commit_interval_ms,
        uncommitted_max_bytes=config.statestore_uncommitted_max_bytes,
        max_task_idle_ms=config.max_task_idle_ms,
        buffered_records=config.buffered_records_per_partition,
        max_poll_records=config.max_poll_records,
        poll_ms=config.poll_ms,
        task_timeout_ms=config.task_timeout_ms,
        repartition_purge_interval_ms=config.repartition_purge_interval_ms,
        is_debugging=config.metrics_recording_level == "DEBUG",
        offset_reset=_reset(config.auto_offset_reset),
        listeners=listeners,
        is_exactly_once=config.is_exactly_once,
        is_alone=config.num_workers == 1,
        is_classic=config.is_classic,
    )


def _reset(strategy: str) -> object:
    duration_ms = offset_reset_duration_ms(strategy)
    return strategy if duration_ms is None else timedelta(milliseconds=duration_ms)
