"""Checks of all handlers of a worker together: their names, and the topics that they read and write."""

from collections.abc import Iterable

from kafka_groups.errors import ConfigurationError
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.options.output_option import check_outputs_of
from kafka_groups.share.workers.options.retry_option import check_retries_of_others, check_retry_topics

__all__ = ["check_declared"]


def check_declared(spec: HandlerSpec, others: Iterable[HandlerSpec]) -> None:
    """Check that a handler fits the others of its worker.

    Raises:
        ConfigurationError: It has the name or a topic of another one; one reads what another writes when records fail;
            or options of the handler exclude each other.
    """
    check_retry_topics(spec)
    check_outputs_of(spec, spec)
    for other in others:
        for topic in spec.topics:
            if topic in other.topics:
                raise ConfigurationError(
                    f"handler {spec.name}: the topic {topic!r} has the handler {other.name} already. A topic has"
                    " one handler"
                )
        if spec.name == other.name:
            raise ConfigurationError(f"two handlers have the name {spec.name!r}: give one of them another name=")
        check_retries_of_others(spec, other)
        check_outputs_of(spec, other)
