"""Check a worker against its brokers without running it: what keeps it from starting, and what may lose records."""

from collections.abc import Sequence

from attrs import frozen

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.share.workers.group_start import check_group_start
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.running.checks.preflight import preflight, written_topics
from kafka_groups.share.workers.running.checks.worker_rights import WorkerNeeds, missing_rights_of
from kafka_groups.share.workers.running.handler_setup import connection_of, handling_rules, worker_consumer
from kafka_groups.share.workers.running.members.handler_members import HandlerMember, group_starts, retry_group
from kafka_groups.share.workers.running.runtime_settings import RuntimeSettings
from kafka_groups.share.workers.start_option import GroupStart

__all__ = ["HandlerCheck", "check_handlers"]


@frozen
class HandlerCheck:
    """The result of a check of one handler.

    Attributes:
        handler: The name of the handler.
        topics: Its topics.
        errors: What keeps it from handling records.
        warnings: What needs attention.
    """

    handler: str
    topics: Sequence[str]
    errors: Sequence[str] = ()
    warnings: Sequence[str] = ()

    @property
    def is_passed(self) -> bool:
        """True if there are no errors; there may be warnings."""
        return not self.errors


async def check_handlers(settings: RuntimeSettings, specs: Sequence[HandlerSpec]) -> list[HandlerCheck]:
    """Check all handlers of a worker. Joins no group, fetches nothing and sets no configuration."""
    begins = [await _checked_start(settings, start) for start in group_starts(settings.start, specs, settings.group_id)]
    problems = [problem for each in begins for problem in each]
    return [await _checked(settings, spec, problems) for spec in specs]


def _needs(spec: HandlerSpec, group_id: str) -> WorkerNeeds:
    """Return the resources that a handler and its members for retry topics use."""
    retries = () if spec.retry_topics is None else spec.retry_topics.names
    groups = (group_id, retry_group(group_id)) if retries else (group_id,)
    written = [topic for _, topic in written_topics(spec)]
    return WorkerNeeds(groups, (*spec.topics, *retries), (*written, *retries))


async def _checked_start(settings: RuntimeSettings, start: GroupStart) -> Sequence[str]:
    """Return what keeps a group from beginning where the worker says; else nothing."""
    try:
        await check_group_start(start, *connection_of(settings))
    except KafkaGroupsError as error:
        return (str(error),)
    return ()


async def _checked(settings: RuntimeSettings, spec: HandlerSpec, begins: Sequence[str]) -> HandlerCheck:
    consumer = worker_consumer(settings, settings.group_id)
    try:
        denied = await missing_rights_of(_needs(spec, settings.group_id), *connection_of(settings))
        begins = [*begins, *denied]
        group = await preflight(consumer, settings.group_id, spec, has_start=settings.start is not None)
        handling_rules(HandlerMember(spec, settings.group_id), group, connection_of(settings)[1].clock)
    except KafkaGroupsError as error:
        text = str(error).removeprefix(f"handler {spec.name}: ")
        return HandlerCheck(spec.name, spec.topics, list(dict.fromkeys([*begins, text])))
    finally:
        await consumer.close()
    missing = [f"The topic {topic} does not exist. Create it." for topic in group.missing]
    return HandlerCheck(spec.name, spec.topics, [*begins, *missing], group.notes)
