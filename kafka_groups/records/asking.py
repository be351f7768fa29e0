"""The questions of the data plane that are rare: the numbers of partitions of topics, and their ids."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from kafka_groups.client.calls.questions import Answer, Question, told
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

__all__ = ["counting_partitions", "describing", "identifying"]


def counting_partitions() -> Question[str, Mapping[str, int]]:
    """Ask any broker for the numbers of partitions of all topics. They are the answer for the key ""."""
    request = MetadataRequest(topics=None, allow_auto_topic_creation=False)

    def read(keys: Sequence[str], response: MetadataResponse) -> Mapping[str, Answer[Mapping[str, int]]]:
        counts = {topic.name or "": len(topic.partitions) for topic in response.topics if topic.partitions}
        return {key: told(response.error_code, None, counts) for key in keys}

    return Question("list the topics", ApiKey.METADATA, ("",), lambda _keys, _version: request, read)


def describing(topic: str) -> Question[str, None]:
    """Ask any broker whether a topic may be described. Lists of all topics leave out those that may not."""
    request = MetadataRequest(topics=(MetadataRequestTopic(name=topic),), allow_auto_topic_creation=False)

    def read(keys: Sequence[str], response: MetadataResponse) -> Mapping[str, Answer[None]]:
        codes = {each.name: each.error_code for each in response.topics}
        return {key: told(codes.get(key, ErrorCode.NONE), None, None) for key in keys}

    return Question("describe a topic", ApiKey.METADATA, (topic,), lambda _keys, _version: request, read)


def identifying(topics: tuple[str, ...]) -> Question[str, UUID | None]:
    """Ask any broker for the ids of topics. Brokers before Kafka 2.8 have no ids."""

    def build(keys: Sequence[str], _version: int) -> MetadataRequest:
        asked = tuple(MetadataRequestTopic(name=key) for key in keys)
        return MetadataRequest(topics=asked, allow_auto_topic_creation=False)

    def read(_keys: Sequence[str], response: MetadataResponse) -> Mapping[str, Answer[UUID | None]]:
        return {
            topic.name or "": told(topic.error_code, f"{topic.error_code.name}: {topic.name}", topic.topic_id)
            for topic in response.topics
        }

    return Question("ask for the ids of topics", ApiKey.METADATA, topics, build, read)
