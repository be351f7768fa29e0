"""The topics that a program commits offsets of: an offset must not count for the next topic of the same name."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from uuid import UUID

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.client.calls.questions import Answer, Question, metadata_request
from kafka_groups.errors import UnknownTopicIdError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.metadata import MetadataResponse
from kafka_groups.streams.member.rules.committing_member import tasks_reading
from kafka_groups.streams.member.rules.member_tasks import MemberTasks
from kafka_groups.types import TopicPartition

__all__ = ["CommittedTopics", "identifying"]


class CommittedTopics:
    """Remembers the ids of the topics that offsets are from.

    The id of a partition's topic is that of the first commit, until its task ends or the program asks where to begin.
    If the topic is deleted and made again in the meantime, coordinators refuse the offsets (OffsetCommit 10). Java's
    consumer commits with the id that its metadata have then.

    Args:
        id_of: Returns the id that a topic has in the member's metadata, or None.
    """

    def __init__(self, id_of: Callable[[str], UUID | None]) -> None:
        self._id_of = id_of
        self._committed: dict[TopicPartition, UUID] = {}
        self._told: dict[str, UUID | None] = {}  # by brokers, where the metadata may be behind

    def __repr__(self) -> str:
        return f"<CommittedTopics: {len(self._committed)} partitions>"

    def ids(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, UUID]:
        """Return the ids to commit offsets with, as far as they are known."""
        found = {place: self._committed.get(place) or self._present(place.topic) for place in partitions}
        return {place: topic_id for place, topic_id in found.items() if topic_id is not None}

    def _present(self, topic: str) -> UUID | None:
        return self._told[topic] if topic in self._told else self._id_of(topic)

    def note(self, ids: Mapping[TopicPartition, UUID]) -> None:
        """Note that offsets were committed with these ids."""
        self._committed.update(ids)

    def begin(self, partitions: Iterable[TopicPartition]) -> None:
        """Note that the program asks where to begin: the next offsets may be those of another topic."""
        for place in partitions:
            self._committed.pop(place, None)

    def end(self, tasks: MemberTasks, topology: GroupTopology) -> None:
        """Note that tasks have ended."""
        self.begin([place for place in self._committed if tasks_reading(place, topology) & tasks.ids])

    def learn(self, topics: Iterable[str], ids: Mapping[str, UUID]) -> None:
        """Take the ids that brokers have told. A topic that is missing does not exist."""
        self._told.update({topic: ids.get(topic) for topic in topics})

    def refusal(self, partitions: Iterable[TopicPartition]) -> UnknownTopicIdError | None:
        """Return the error if the topic of a partition was made again since offsets of it were committed, else None."""
        for place in partitions:
            committed, present = self._committed.get(place), self._present(place.topic)
            if committed is not None and present is not None and present != committed:
                return _made_again(place)
        return None


def _made_again(place: TopicPartition) -> UnknownTopicIdError:
    error = UnknownTopicIdError(
        f"The topic {place.topic} was deleted and created again since an offset of {place} was committed last. Its new"
        " records are not those that the offset is about, so it is not committed. Call `committed`, and read the"
        " partition from where a partition without an offset begins."
    )
    error.retriable, error.says_remedy = False, True  # the same offset is refused again
    return error


def identifying(topics: Iterable[str]) -> Question[str, Mapping[str, UUID]]:
    """Ask any broker for the ids of topics that exist. They are the answer for the key ""."""
    wanted = tuple(topics)

    def read(keys: Sequence[str], response: MetadataResponse) -> Mapping[str, Answer[Mapping[str, UUID]]]:
        ids = {
            topic.name: topic.topic_id
            for topic in response.topics
            if topic.error_code is ErrorCode.NONE and topic.name is not None and topic.topic_id is not None
        }
        return dict.fromkeys(keys, ids)

    return Question(
        "find the topics", ApiKey.METADATA, ("",), lambda _, version: metadata_request(wanted, version), read
    )
