"""The question that adds partitions to topics (CreatePartitions, KIP-195)."""

from collections.abc import Mapping, Sequence
from typing import Final

from kafka_groups.client.calls.questions import Answer, Asking, Question, told
from kafka_groups.client.calls.results import Results
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)

__all__ = ["create_partitions"]

_CREATION_MS: Final = 30_000
"""The longest time that a broker waits for the controller."""


async def create_partitions(ask: Asking, totals: Mapping[str, int], *, validate_only: bool) -> Results[str, None]:
    """Have the controller add partitions to topics, on brokers of its choice.

    Args:
        ask: Asks the brokers.
        totals: The number of partitions that each topic will have.
        validate_only: Whether brokers only check what they would do.
    """

    def build(keys: Sequence[str], _version: int) -> CreatePartitionsRequest:
        topics = tuple(CreatePartitionsTopic(name=key, count=totals[key], assignments=None) for key in keys)
        return CreatePartitionsRequest(topics=topics, timeout_ms=_CREATION_MS, validate_only=validate_only)

    return await ask(Question("add partitions to the topic", ApiKey.CREATE_PARTITIONS, tuple(totals), build, _created))


def _created(_keys: Sequence[str], response: CreatePartitionsResponse) -> Mapping[str, Answer[None]]:
    return {
        each.name: told(each.error_code, each.error_message or f"{each.error_code.name}: {each.name}", None)
        for each in response.results
    }
