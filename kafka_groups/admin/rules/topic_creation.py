"""Creation of topics that are missing, by somebody who may not be the only one to create them."""

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from kafka_groups.admin.rules.topics import TopicReplicas, TopicToCreate, create_topics, replicas_in_response
from kafka_groups.client.calls.questions import Answer, Asking, Question, metadata_request
from kafka_groups.errors import (
    KafkaGroupsError,
    LeaderNotAvailableError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.errors.texts import counted
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.metadata import MetadataResponse

__all__ = ["TopicCreation", "create_missing_topics", "described_topics", "new_topics"]


@frozen
class TopicCreation:
    """The result of creating topics.

    Attributes:
        created: Those that were created, sorted.
        existing: Those that somebody else has created since they were missing. Look at what they are.
        errors: Those that could not be created.
    """

    created: tuple[str, ...]
    existing: tuple[str, ...]
    errors: Mapping[str, KafkaGroupsError]


async def create_missing_topics(ask: Asking, missing: Mapping[str, TopicToCreate]) -> TopicCreation:
    """Create topics. Those that exist by now are no errors.

    Raises:
        KafkaGroupsError: Nothing could be asked.
    """
    done = await create_topics(ask, missing)
    existing = tuple(name for name, error in done.errors.items() if isinstance(error, TopicAlreadyExistsError))
    errors = {name: error for name, error in done.errors.items() if name not in existing}
    return TopicCreation(tuple(sorted(done.values)), existing, errors)


async def new_topics(ask: Asking, topics: Iterable[str]) -> dict[str, TopicReplicas]:
    """Return topics that are known to exist. A broker may not know them yet, so this waits for it.

    Raises:
        KafkaGroupsError: The brokers do not tell now.
    """
    names = tuple(topics)
    return dict((await ask(_waiting_for(names))).checked().values) if names else {}


def _waiting_for(topics: tuple[str, ...]) -> Question[str, TopicReplicas]:
    """Return the question for topics that are known to exist."""
    return Question("describe the topic", ApiKey.METADATA, topics, metadata_request, _replicas_or_not_yet)


def _replicas_or_not_yet(keys: Sequence[str], response: MetadataResponse) -> Mapping[str, Answer[TopicReplicas]]:
    found = replicas_in_response(keys, response)
    unknown = {
        name: LeaderNotAvailableError(f"{name} does not exist yet.")
        for name in keys
        if isinstance(found.get(name), UnknownTopicOrPartitionError | None)
    }
    return {**found, **unknown}


def described_topics(topics: Mapping[str, TopicToCreate]) -> str:
    """Return topics with what it takes to create them by hand."""
    return "; ".join(
        f"{name} with {counted(topic.partitions, 'partition')}"
        + (" and " if topic.configs else "")
        + ", ".join(f"{key}={value}" for key, value in topic.configs.items())
        for name, topic in topics.items()
    )
