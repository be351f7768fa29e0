"""The names under which the members of a handler report their metrics, and appear in logs."""

from kafka_groups.share.workers.handlers import HandlerSpec

__all__ = ["retry_member_name"]


def retry_member_name(handler: HandlerSpec, topic: str) -> str:
    """Return the name of the member that reads a retry topic of a handler. That for its own topics has its name."""
    prefix = handler.retry_topics.prefix if handler.retry_topics else ""
    return f"{handler.name} (retry {topic.removeprefix(prefix).lstrip('.')})"
