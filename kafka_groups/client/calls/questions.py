"""Questions to brokers: one request of one API for any number of keys, and how to find the responsible brokers.

Keys are groups, partitions, topics or brokers. A lookup says which broker is responsible for a key.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar, Union

from attrs import field, frozen

from kafka_groups.client.calls.results import Results
from kafka_groups.client.metadata import Metadata
from kafka_groups.errors import (
    KafkaGroupsError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
    error_for,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.find_coordinator import (
    FIRST_WITH_MANY_KEYS,
    CoordinatorType,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_groups.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from kafka_groups.types import TopicPartition

__all__ = [
    "COORDINATORS",
    "LEADERS",
    "TRANSACTION_COORDINATORS",
    "Answer",
    "Asking",
    "Lookup",
    "Question",
    "Unfinished",
    "errors_of_topics",
    "finished_or_not",
    "gathered",
    "may_pass",
    "metadata_request",
    "told",
]

K = TypeVar("K")
V = TypeVar("V")
_T = TypeVar("_T")


@frozen
class Unfinished(Generic[V]):
    """A value of which a part failed with an error that may pass. It counts if time runs out before a better one."""

    value: V
    error: KafkaGroupsError


Answer = Union[V, Unfinished[V], KafkaGroupsError]  # noqa: UP007 - mypy wants this form for a generic alias


class Lookup(Protocol[K]):
    """Finds the brokers that are responsible for keys."""

    @property
    def api(self) -> ApiKey:
        """The API that tells."""
        ...

    def build(self, keys: Sequence[K], version: int) -> object:
        """Return the request.

        Raises:
            UnsupportedVersionError: This version has only one key in a request.
        """
        ...

    def read(self, keys: Sequence[K], response: Any, metadata: Metadata) -> Mapping[K, int | KafkaGroupsError]:
        """Return the node id of each key's broker, or an error, and store the brokers' addresses."""
        ...


@frozen(eq=False)
class Question(Generic[K, V]):
    """A request for some keys.

    Attributes:
        what: What it asks for, after "could not", for messages.
        api: The API.
        keys: The keys.
        build: Builds the request for those keys for which one broker is responsible, in a version.
        read: Returns the answers in the response to such a request.
        lookup: Finds the brokers; None if any broker can answer, or `places` names them.
        places: Node ids of brokers that are known to be responsible.
        newest_version: The newest version of the API to use, if that is not the newest that both sides support.
    """

    what: str
    api: ApiKey
    keys: tuple[K, ...]
    build: Callable[[Sequence[K], int], object]
    read: Callable[[Sequence[K], Any], Mapping[K, Answer[V]]]
    lookup: Lookup[K] | None = None
    places: Mapping[K, int] = field(factory=dict)
    newest_version: int | None = None


class Asking(Protocol):
    """Asks the brokers questions until a deadline."""

    async def __call__(self, question: Question[K, V]) -> Results[K, V]:
        """Ask one question and wait for the answers.

        Raises:
            KafkaGroupsError: Nothing could be asked, for example because authentication failed.
        """
        ...


def told(code: ErrorCode, message: str | None, value: _T) -> _T | KafkaGroupsError:
    """Return the error of a response, or the value if there is none."""
    return value if code is ErrorCode.NONE else error_for(code, message or code.name)


def gathered(answers: Mapping[K, V | KafkaGroupsError]) -> Results[K, V]:
    """Return the results that a response has for parts of a key, such as the partitions of a group."""
    values = {key: answer for key, answer in answers.items() if not isinstance(answer, KafkaGroupsError)}
    return Results(values, {key: answer for key, answer in answers.items() if isinstance(answer, KafkaGroupsError)})


def finished_or_not(results: Results[K, V]) -> Results[K, V] | Unfinished[Results[K, V]]:
    """Return these results, as unfinished if one of their errors may pass."""
    passing = next((error for error in results.errors.values() if may_pass(error)), None)
    return results if passing is None else Unfinished(results, passing)


def may_pass(error: KafkaGroupsError) -> bool:
    """Return whether to ask again after an error.

    Kafka calls an unknown topic retriable, because it may be being created. An administrator would rather know at once,
    and so would a member whose topic was deleted.
    """
    return error.retriable and not isinstance(error, UnknownTopicOrPartitionError | UnknownTopicIdError)


# ------------------------------------------------------------------------------------------- coordinators


@frozen
class _Coordinators:
    """Finds the coordinators of groups or transactional ids (FindCoordinator, KIP-699)."""

    key_type: CoordinatorType
    api = ApiKey.FIND_COORDINATOR

    def build(self, keys: Sequence[str], version: int) -> FindCoordinatorRequest:
        if version >= FIRST_WITH_MANY_KEYS:
            return FindCoordinatorRequest(coordinator_keys=tuple(keys), key_type=self.key_type)
        if len(keys) > 1:
            raise UnsupportedVersionError(f"FindCoordinator v{version} has only one key.")
        return FindCoordinatorRequest(key=keys[0], key_type=self.key_type)

    def read(
        self, keys: Sequence[str], response: FindCoordinatorResponse, metadata: Metadata
    ) -> Mapping[str, int | KafkaGroupsError]:
        found = response.found(keys[0])
        for each in found:
            if each.error_code is ErrorCode.NONE:
                metadata.note_address(each.node_id, each.host, each.port)
        return {each.key: told(each.error_code, each.error_message, each.node_id) for each in found}


COORDINATORS: Lookup[str] = _Coordinators(CoordinatorType.GROUP)
"""Keys are groups: their coordinators are responsible."""

TRANSACTION_COORDINATORS: Lookup[str] = _Coordinators(CoordinatorType.TRANSACTION)
"""Keys are transactional ids: their coordinators are responsible."""


# ------------------------------------------------------------------------------------------------- leaders


class _Leaders:
    """Finds the leaders of partitions (Metadata)."""

    api = ApiKey.METADATA

    def build(self, keys: Sequence[TopicPartition], version: int) -> MetadataRequest:
        return metadata_request({key.topic for key in keys}, version)

    def read(
        self, keys: Sequence[TopicPartition], response: MetadataResponse, _metadata: Metadata
    ) -> Mapping[TopicPartition, int | KafkaGroupsError]:
        refused = errors_of_topics(response.topics)
        leaders = dict(_leaders(response.topics))
        missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        unknown = {key: error_for(missing, f"{missing.name}: {key}") for key in keys}
        return {key: refused.get(key.topic) or leaders.get(key, unknown[key]) for key in keys}


def _leaders(topics: Iterable[MetadataResponseTopic]) -> Iterable[tuple[TopicPartition, int | KafkaGroupsError]]:
    for topic in topics:
        for each in topic.partitions:
            key = TopicPartition(topic.name or "", each.partition_index)
            code = ErrorCode.NONE if each.leader_id >= 0 else ErrorCode.LEADER_NOT_AVAILABLE
            yield key, told(code, f"{code.name}: {key}", each.leader_id)


LEADERS: Lookup[TopicPartition] = _Leaders()
"""Keys are partitions: their leaders are responsible."""


def metadata_request(topics: Iterable[str], version: int) -> MetadataRequest:
    """Return a request for topics. It creates none, except before v4, which cannot say that."""
    wanted = tuple(MetadataRequestTopic(name=name) for name in sorted(topics))
    return MetadataRequest(topics=wanted, allow_auto_topic_creation=version < 4)


def errors_of_topics(topics: Iterable[MetadataResponseTopic]) -> dict[str, KafkaGroupsError]:
    """Return the errors of topics in a Metadata response."""
    return {
        topic.name or "": error_for(topic.error_code, f"{topic.error_code.name}: the topic {topic.name}")
        for topic in topics
        if topic.error_code is not ErrorCode.NONE
    }
