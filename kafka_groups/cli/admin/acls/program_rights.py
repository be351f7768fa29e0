"""The rights of workers and of streams applications, from the programs themselves."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import click

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.cli.topologies.loading import load_topology
from kafka_groups.cli.worker_command import load_worker
from kafka_groups.client.rights import NeededRight
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.running.checks.preflight import written_topics
from kafka_groups.share.workers.running.members.handler_members import retry_group
from kafka_groups.share.workers.worker import parts_of
from kafka_groups.streams.topology.nodes import SinkNode, SourceNode

__all__ = ["rights_of_application", "rights_of_worker"]

_O, _T = AclOperation, AclResourceType
_CONFIGS: Final = (_O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS)
_INTERNAL: Final = (_O.READ, _O.WRITE, _O.CREATE, _O.DELETE)


def rights_of_worker(given: str, *, creates_topics: bool) -> Sequence[NeededRight]:
    """Return the rights of a worker, for its groups and for the topics of its handlers.

    Args:
        given: The worker, as `MODULE:NAME`.
        creates_topics: Whether it creates its topics.

    Raises:
        click.ClickException: There is no such worker, or it has no handler.
    """
    declared = parts_of(load_worker(given))
    group_id, handlers = declared.settings.group_id, declared.handlers
    if not handlers:
        raise click.ClickException(f"The worker {given} has no handlers, so it needs no rights yet.")
    retries = list(dict.fromkeys(name for each in handlers for name in _retry_topics(each)))
    groups = [(group_id, declared.settings.start is not None), *([(retry_group(group_id), True)] if retries else [])]
    written = {name: None for each in handlers for _, name in written_topics(each)}
    return [
        *(NeededRight(_of_group(sets_start=sets), _T.GROUP, (name,)) for name, sets in groups),
        *_topics((_O.READ,), (topic for each in handlers for topic in each.topics)),
        *_topics((_O.WRITE, *_created(creates=creates_topics)), written),
        *_topics((_O.READ, _O.WRITE, _O.DESCRIBE_CONFIGS, *_created(creates=creates_topics)), retries),
    ]


def _of_group(*, sets_start: bool) -> tuple[AclOperation, ...]:
    # ALTER_CONFIGS is for a start that the worker sets, and includes DESCRIBE_CONFIGS.
    return (_O.READ, _O.ALTER_CONFIGS if sets_start else _O.DESCRIBE_CONFIGS)


def _created(*, creates: bool) -> tuple[AclOperation, ...]:
    return (_O.CREATE,) if creates else ()


def _retry_topics(handler: HandlerSpec) -> Sequence[str]:
    return () if handler.retry_topics is None else handler.retry_topics.names


def _topics(operations: tuple[AclOperation, ...], names: Iterable[str]) -> Iterator[NeededRight]:
    yield from (NeededRight(operations, _T.TOPIC, (name,)) for name in dict.fromkeys(names))


def rights_of_application(given: str, application_id: str, *, is_exactly_once: bool) -> Sequence[NeededRight]:
    """Return the rights of a streams application.

    Args:
        given: The function that builds the topology, as `MODULE:FUNCTION`.
        application_id: Its application.id.
        is_exactly_once: Whether it writes in transactions.

    Raises:
        click.ClickException: There is no such function, or no topology; or it does not name all topics.
    """
    graph = load_topology(given).graph
    internal = graph.repartition_topics
    sources = [each for each in graph.nodes.values() if isinstance(each, SourceNode)]
    sinks = [each for each in graph.nodes.values() if isinstance(each, SinkNode)]
    _check_named(given, sources, sinks)
    prefix = (f"{application_id}-",)
    ids = [NeededRight((_O.WRITE,), _T.TRANSACTIONAL_ID, prefix, is_prefix=True)] if is_exactly_once else []
    return [
        NeededRight((_O.READ,), _T.GROUP, (application_id,)),
        *_topics((_O.READ,), (topic for each in sources for topic in each.topics if topic not in internal)),
        *_topics((_O.WRITE,), (str(each.topic) for each in sinks if each.topic not in internal)),
        NeededRight(_INTERNAL, _T.TOPIC, prefix, is_prefix=True),
        *ids,
    ]


def _check_named(given: str, sources: Iterable[SourceNode], sinks: Iterable[SinkNode]) -> None:
    """Refuse topologies whose topics depend on what is there, as nobody knows them yet."""
    unnamed = [
        *(each.name for each in sources if each.pattern is not None),
        *(each.name for each in sinks if not isinstance(each.topic, str)),
    ]
    if unnamed:
        raise click.ClickException(
            f"{given} does not name the topics of {', '.join(unnamed)}: patterns and functions choose them. Add ACLs "
            "with --topic, and --prefix where it fits."
        )
