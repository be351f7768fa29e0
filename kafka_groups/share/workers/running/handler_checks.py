"""Check a worker against its brokers without running it: what keeps it from starting, and what may lose records."""

from collections.abc import Sequence

from attrs import frozen

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.running.preflight import preflight
from kafka_groups.share.workers.running.runtime import handling_rules, worker_consumer
from kafka_groups.share.workers.running.runtime_settings import RuntimeSettings

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
    """Check all handlers of a worker. Joins no group and fetches nothing."""
    return [await _checked(settings, spec) for spec in specs]


async def _checked(settings: RuntimeSettings, spec: HandlerSpec) -> HandlerCheck:
    consumer = worker_consumer(settings)
    try:
        group = await preflight(consumer, settings.group_id, spec)
        handling_rules(spec, group)
    except KafkaGroupsError as error:
        text = str(error).removeprefix(f"handler {spec.name}: ")
        return HandlerCheck(spec.name, spec.topics, [text])
    finally:
        await consumer.close()
    missing = [f"The topic {topic} does not exist. Create it." for topic in group.missing]
    return HandlerCheck(spec.name, spec.topics, missing, group.notes)
