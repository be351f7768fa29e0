"""Each API asks for the rights that Kafka 4.4.0 asks for, and has each error in the same place."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import pytest

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.authorization.rights import RIGHTS, Refusal, Right
from kafka_groups.protocol.apis import APIS, ApiKey
from tests.support.rights.asked_rights import replayed
from tests.support.rights.recorded_rights import RightsEntry, RightsStep, load
from tests.support.rights.rights_worlds import embedded_rights

ENTRIES = load()
KEYS: Mapping[str, ApiKey] = {api.request_class.__name__.removesuffix("Request"): api.key for api in APIS.values()}

TOPIC = AclResourceType.TOPIC

Seen = tuple[object, frozenset[tuple[str, str]]]

DIFFERENCES: Mapping[str, str] = MappingProxyType({
    "IncrementalAlterConfigs broker logger": "brokers have no loggers whose levels could change",
    "StreamsGroupHeartbeat join, internal topics to create": (
        "Kafka creates topics by a request of the client's own, which asks for DESCRIBE_CONFIGS and ignores the answer"
    ),
})  # fmt: skip
"""Entries of the file whose last steps differ here for a reason that has nothing to do with rights."""

NOT_IN_THE_FILE = frozenset({
    ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE,
})  # fmt: skip

OWN_TEXTS = frozenset({"CreateAcls", "DescribeAcls", "DeleteAcls"})
"""APIs whose texts about rights are left out in the file: Kafka's have the address of the connection."""


def seen_of(entry: RightsEntry) -> Iterator[Seen]:
    """What can be compared: all steps in order, or the sets of the first and last one."""
    if entry.is_unordered:
        yield from ((frozenset(step.asked), errors_of(step, entry)) for step in (entry.steps[0], entry.steps[-1]))
    else:
        yield from ((step.canonical.asked, errors_of(step, entry)) for step in entry.steps)


def errors_of(step: RightsStep, entry: RightsEntry) -> frozenset[tuple[str, str]]:
    """The codes, and the texts about rights. Other texts are ours."""
    has_texts = entry.api not in OWN_TEXTS
    return frozenset(
        (place, text)
        for place, text in step.errors
        if not place.endswith("message") or (has_texts and "uthoriz" in text)
    )


@pytest.mark.slow
async def test_requests_ask_for_the_rights_of_the_golden_file(monkeypatch: pytest.MonkeyPatch) -> None:
    differing: dict[str, str] = {}
    async with embedded_rights(monkeypatch) as world:
        for name, entry in ENTRIES.items():
            found = await replayed(name, entry, world)
            for kafka, here in zip(seen_of(entry), seen_of(found), strict=True):
                if kafka != here:
                    differing[name] = f"Kafka: {kafka}\nhere: {here}"
    assert differing.keys() == DIFFERENCES.keys(), [differing[name] for name in differing.keys() - DIFFERENCES.keys()]


# ------------------------------------------------------------------------------------------------- the table


def asked_by(key: ApiKey) -> set[Right]:
    """The rights that Kafka asks for in an API."""
    entries = [entry for entry in ENTRIES.values() if KEYS[entry.api] is key]
    questions = (question for entry in entries for step in entry.steps for question in step.asked)
    return {Right(operation, resource_type) for operation, resource_type, _, _ in questions}


def in_the_table(key: ApiKey) -> set[Right]:
    """The rights that the table says."""
    return {right for asked in RIGHTS[key] for right in asked.rights}


EXTRA: Mapping[ApiKey, set[Right]] = {
    ApiKey.STREAMS_GROUP_HEARTBEAT: {Right(AclOperation.DESCRIBE_CONFIGS, TOPIC)},
}
"""Kafka's questions whose answers change nothing, which brokers here do not ask."""

UNSEEN: Mapping[ApiKey, set[Right]] = {
    ApiKey.METADATA: {
        Right(AclOperation.CREATE, AclResourceType.CLUSTER),  # topics are not created on demand there
    },
}
"""Rights of the table that the requests of the file do not need. Other tests do."""


def test_the_file_has_each_api_that_brokers_serve() -> None:
    assert RIGHTS.keys() - {KEYS[entry.api] for entry in ENTRIES.values()} == NOT_IN_THE_FILE


@pytest.mark.parametrize("key", sorted(RIGHTS.keys() - NOT_IN_THE_FILE), ids=lambda key: key.name)
def test_the_table_says_what_kafka_asks_for(key: ApiKey) -> None:
    asked = asked_by(key) - EXTRA.get(key, set())
    assert asked <= in_the_table(key)
    assert in_the_table(key) - asked <= UNSEEN.get(key, set())


def places() -> Iterator[tuple[ApiKey, Refusal]]:
    """The places of errors about rights in the file, by API."""
    for entry in ENTRIES.values():
        for step in entry.steps:
            for place, text in step.errors:
                if text.endswith("_AUTHORIZATION_FAILED") and not place.endswith("topic_config_error_code"):
                    yield KEYS[entry.api], refusal_at(place)


def refusal_at(place: str) -> Refusal:
    """The kind of a place in a response."""
    if "[]" not in place:
        return Refusal.REQUEST
    return Refusal.PARTITION if "partition" in place else Refusal.ITEM


@pytest.mark.parametrize("key", sorted({key for key, _ in places()}), ids=lambda key: key.name)
def test_the_table_says_where_the_error_is(key: ApiKey) -> None:
    said = {refusal for asked in RIGHTS[key] for refusal in asked.refusals}
    seen = {refusal for each, refusal in places() if each is key}
    assert seen == said - {Refusal.LEFT_OUT, Refusal.ELSEWHERE}
