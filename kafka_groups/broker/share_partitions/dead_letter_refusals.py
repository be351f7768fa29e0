"""The checks of a group's dead-letter queue before each letter, with Kafka's reasons and the commands that help."""

from attrs import frozen

__all__ = ["GROUP_ENABLE", "GroupQueue", "QueueRefusal", "refusal"]

TOPIC_NAME = "errors.deadletterqueue.topic.name"
GROUP_ENABLE = "errors.deadletterqueue.group.enable"


@frozen
class GroupQueue:
    """A group's queue as the cluster has it at one moment.

    Attributes:
        group_id: The group.
        topic: The topic that the group names, or nothing.
        prefix: The prefix that queues must have.
        exists: Whether the topic exists.
        is_enabled: Whether it allows letters of groups.
        is_created: Whether a missing topic is created.
    """

    group_id: str
    topic: str
    prefix: str
    exists: bool
    is_enabled: bool
    is_created: bool


@frozen
class QueueRefusal:
    """A queue that takes no letters: Kafka's reason, and what to do about it."""

    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.reason} {self.remedy}"


def refusal(queue: GroupQueue) -> QueueRefusal | None:
    """Return why a queue takes no letters, or None if it does. A missing topic that can be created is none."""
    group_id, topic = queue.group_id, queue.topic
    # The order of the checks, and the texts, are those of Kafka's
    # ShareGroupDLQStateManager.ProduceRequestHandler.validateDlqTopic.
    if not topic:
        return QueueRefusal(
            f"Configured DLQ topic name in share group: {group_id} is empty.", _set_topic(group_id, f"{queue.prefix}…")
        )
    if queue.exists and not queue.is_enabled:
        return QueueRefusal(
            f"DLQ is not enabled on configured DLQ topic for share group: {group_id}, topic: {topic}.",
            f"Enable it: kafka-groups topics configs {topic} --set {GROUP_ENABLE}=true",
        )
    if not queue.exists and not queue.is_created:
        return QueueRefusal(
            "DLQ topic does not exist and auto create is disabled on cluster for "
            f"share group: {group_id}, topic: {topic}.",
            f"Create it: kafka-groups topics create {topic} --set {GROUP_ENABLE}=true",
        )
    if not topic.startswith(queue.prefix):
        return QueueRefusal(
            "Configured DLQ topic name does not comply with the DLQ topic prefix in "
            f"share group: {group_id}, topic: {topic}, prefix: {queue.prefix}.",
            _set_topic(group_id, f"{queue.prefix}{topic}"),
        )
    return None


def _set_topic(group_id: str, topic: str) -> str:
    return f"Name another topic: kafka-groups groups configs {group_id} --set {TOPIC_NAME}={topic}"
