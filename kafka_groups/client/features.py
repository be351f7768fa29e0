"""Remedies for an operator whose brokers refuse an API: upgrade them, or switch a feature on (KIP-584)."""

from typing import Final, TypeVar

from attrs import frozen

from kafka_groups.errors import KafkaGroupsError, UnsupportedVersionError
from kafka_groups.errors.texts import sentences
from kafka_groups.protocol.apis import ApiKey

__all__ = ["if_switched_off", "if_too_old"]

E = TypeVar("E")


_RECORD_APIS: Final = frozenset({
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.END_TXN,
})  # fmt: skip
_RECORDS_SINCE: Final = "Kafka 3.7"


@frozen
class _GroupFeature:
    """The feature that switches a type of groups on."""

    groups: str
    name: str
    apis: frozenset[ApiKey]
    or_else: str = ""


_SINCE: Final = "Kafka 4.2"
_FEATURES: Final = (
    _GroupFeature(
        "Share groups",
        "share.version",
        frozenset({
            ApiKey.SHARE_GROUP_HEARTBEAT,
            ApiKey.SHARE_GROUP_DESCRIBE,
            ApiKey.SHARE_FETCH,
            ApiKey.SHARE_ACKNOWLEDGE,
            ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
            ApiKey.ALTER_SHARE_GROUP_OFFSETS,
            ApiKey.DELETE_SHARE_GROUP_OFFSETS,
        }),
    ),
    _GroupFeature(
        "Streams groups",
        "streams.version",
        frozenset({ApiKey.STREAMS_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_DESCRIBE}),
        or_else=" If its level is 1, add 'streams' to group.coordinator.rebalance.protocols of the brokers.",
    ),
)  # fmt: skip


def if_too_old(api: ApiKey, error: Exception) -> Exception:
    """Return the error, with the release to upgrade to if the client has found that a broker lacks this API."""
    needs = _needs(api)
    if needs is None or not isinstance(error, UnsupportedVersionError):
        return error
    told = UnsupportedVersionError(sentences(str(error), needs))
    told.__cause__ = error
    return told


def _needs(api: ApiKey) -> str | None:
    if (feature := _feature_of(api)) is not None:
        return f"{feature.groups} need {_SINCE} or newer"
    return f"Applications need {_RECORDS_SINCE} or newer for their records" if api in _RECORD_APIS else None


def if_switched_off(api: ApiKey, answer: E) -> E | KafkaGroupsError:
    """Return the answer, or an error with the command that switches the feature on if a broker has refused this API.

    Args:
        api: The API.
        answer: What the broker answered: an error, or something else.
    """
    feature = _feature_of(api)
    if feature is None or not isinstance(answer, UnsupportedVersionError):
        return answer
    told = UnsupportedVersionError(
        f"{feature.groups} are switched off in this cluster: the brokers refuse {api.name}, as the feature"
        f" {feature.name} is at level 0. {_SINCE} or newer has it: kafka-features.sh --bootstrap-server HOST:PORT"
        f" upgrade --feature {feature.name}=1.{feature.or_else}"
    )
    told.__cause__ = answer
    return told


def _feature_of(api: ApiKey) -> _GroupFeature | None:
    return next((feature for feature in _FEATURES if api in feature.apis), None)
