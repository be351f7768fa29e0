"""Levels of features: which are possible, and what brokers do without share groups."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kafka_groups.client.assembly import Environment
from kafka_groups.errors import UnsupportedVersionError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.api_versions import ApiVersionsRequest
from kafka_groups.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from kafka_groups.protocol.messages.update_features import (
    SAFE_DOWNGRADE,
    UNSAFE_DOWNGRADE,
    UPGRADE,
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
)
from kafka_groups.streams import AsyncStreamsGroupMember, GroupTopologyBuilder
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.raw_member import accept
from tests.support.members.streams_member import StreamsMember, described_streams
from tests.support.members.streams_topologies import sent, subtopology
from tests.support.requests.raw_client import RawClient
from tests.support.targets import Target, everywhere

SHARE = "share.version"
FAILED = "The update failed for all features since the following feature had an error: "
Update = tuple[str, int, int]


def request(*updates: Update, validate_only: bool = False) -> UpdateFeaturesRequest:
    keys = [FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind) for name, level, kind in updates]
    return UpdateFeaturesRequest(feature_updates=tuple(keys), validate_only=validate_only)


async def finalized(client: RawClient) -> Mapping[str, int]:
    response = await client.ask(ApiVersionsRequest(client_software_name="tests", client_software_version="1"), 4)
    return {feature.name: feature.max_version_level for feature in response.finalized_features}


@asynccontextmanager
async def without(feature: str, client: RawClient, *, lowered: int = 0) -> AsyncIterator[None]:
    """Disable a feature for a while, or lower its level."""
    level = (await finalized(client))[feature]
    await update(client, (feature, lowered, SAFE_DOWNGRADE))
    try:
        yield
    finally:
        await update(client, (feature, level, UPGRADE))


async def update(client: RawClient, wanted: Update) -> None:
    """Set a level, and wait until the broker knows it."""
    response = await client.ask(request(wanted))
    assert response.error_code is ErrorCode.NONE, response.error_message
    await until(lambda: finalized(client), lambda features: features.get(wanted[0], 0) == wanted[1])


IMPOSSIBLE: Mapping[Update, str] = {
    ("group.version", 1, 0): "Invalid update version 1 for feature group.version. The controller does not support the "
    "given upgrade type.",
    ("group.version", -1, UPGRADE): "Invalid update version -1 for feature group.version. A feature version cannot be "
    "less than 0.",
    ("group.version", 2, UPGRADE): "Invalid update version 2 for feature group.version. Local controller 1 only "
    "supports versions 0-1",
    ("group.version", 0, UPGRADE): "Invalid update version 0 for feature group.version. Can't downgrade the version of "
    "this feature without setting the upgrade type to either safe or unsafe downgrade.",
    ("kraft.version", 0, UNSAFE_DOWNGRADE): "Invalid update version 0 for feature kraft.version. Can't downgrade the "
    "version of this feature.",
    ("metadata.version", 6, SAFE_DOWNGRADE): "Invalid update version 6 for feature metadata.version. Local controller "
    "1 only supports versions 7-33",
    ("metadata.version", 32, SAFE_DOWNGRADE): "Unsupported metadata.version downgrade from 33 to 32. Refusing to "
    "perform the requested downgrade because it might delete metadata information.",
    ("metadata.version", 32, UNSAFE_DOWNGRADE): "Unsupported metadata.version downgrade from 33 to 32. Unsafe metadata "
    "downgrade is not supported in this version.",
    ("other", 1, UPGRADE): "Invalid update version 1 for feature other. Local controller 1 does not support this "
    "feature.",
    ("other", 0, UPGRADE): "Invalid update version 0 for feature other. Feature other not found.",
}
POSSIBLE = [
    ("metadata.version", 33, SAFE_DOWNGRADE),
    ("kraft.version", 1, UNSAFE_DOWNGRADE),
    ("group.version", 0, UNSAFE_DOWNGRADE),
    ("transaction.version", 0, SAFE_DOWNGRADE),
]


@everywhere
@pytest.mark.parametrize("update", POSSIBLE)
async def test_a_level_that_is_possible(target: Target, update: Update) -> None:
    client = target.client()
    before = await finalized(client)
    for version in (1, 2):
        response = await client.ask(request(update, validate_only=True), version)
        assert (response.error_code, response.error_message) == (ErrorCode.NONE, None)
        shown = UpdatableFeatureResult(feature=update[0], error_message="NONE")
        assert response.results == ((shown,) if version == 1 else ())
    assert await finalized(client) == before


@everywhere
@pytest.mark.parametrize("update", IMPOSSIBLE)
async def test_a_level_that_is_not_possible(target: Target, update: Update) -> None:
    client = target.client()
    before = await finalized(client)
    for version in (1, 2):
        response = await client.ask(request(("transaction.version", 0, SAFE_DOWNGRADE), update), version)
        assert (response.error_code, response.results) == (ErrorCode.INVALID_UPDATE_VERSION, ())
        assert response.error_message == f"{FAILED}{IMPOSSIBLE[update]}"
    assert await finalized(client) == before


@everywhere
async def test_version_0_cannot_downgrade(target: Target) -> None:
    key = FeatureUpdateKey(feature="group.version", max_version_level=0, allow_downgrade=True)
    response = await target.client().ask(UpdateFeaturesRequest(feature_updates=(key,)), 0)
    assert (response.error_code, response.results) == (ErrorCode.INVALID_UPDATE_VERSION, ())


@everywhere
async def test_share_groups_stand_still_without_their_feature(target: Target) -> None:
    topic = await target.cluster.create_topic()
    await target.cluster.produce(topic, [b"1", b"2"])
    group_id = await target.group_of(topic)
    member = await target.joined(group_id, topic)
    held = await member.fetch_until_acquired()
    client = target.client()

    async with without(SHARE, client):
        assert (await member.heartbeat()).error_code is ErrorCode.UNSUPPORTED_VERSION
        assert (await member.share_acknowledge(accept(held.runs[0].first))).error_code is ErrorCode.UNSUPPORTED_VERSION
        assert (await member.share_fetch()).error_code is ErrorCode.UNSUPPORTED_VERSION
        assert await described(target, group_id) is ErrorCode.UNSUPPORTED_VERSION

    assert await described(target, group_id) is ErrorCode.NONE
    after = await member.heartbeat()
    assert (after.error_code, after.member_epoch) == (ErrorCode.NONE, member.epoch)
    # The session has ended with the feature, and the records of the member are available again.
    assert (await member.share_fetch()).error_code is ErrorCode.SHARE_SESSION_NOT_FOUND
    member.session_epoch = 0
    again = await member.fetch_until_acquired()
    assert again.offsets == held.offsets


async def described(target: Target, group_id: str) -> Any:
    coordinator = await target.cluster.coordinator_of(group_id)
    response = await coordinator.ask(
        ShareGroupDescribeRequest(group_ids=(group_id,), include_authorized_operations=False)
    )
    return response.groups[0].error_code


@everywhere
async def test_streams_groups_stand_still_without_their_feature(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = unique("app")
    await target.cluster.coordinator_of(group_id)
    member = StreamsMember(target.client(), group_id, "A" * 22)
    topology = sent(subtopology("0", sources=(topic.name,)))
    assert (await member.join(topology)).error == "NONE"
    async with without("streams.version", target.client()):
        assert (await member.beat()).error == "UNSUPPORTED_VERSION"
        assert (await described_streams(target.client(), group_id)).error_code is ErrorCode.UNSUPPORTED_VERSION
    assert (await member.beat()).error == "NONE"
    assert (await described_streams(target.client(), group_id)).error_code is ErrorCode.NONE


@everywhere
async def test_clients_say_which_feature_is_off_and_how_to_switch_it_on(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.new_group()
    async with without(SHARE, target.client()), target.consumer(group_id) as consumer, target.admin() as admin:
        await consumer.subscribe([topic.name])
        with pytest.raises(UnsupportedVersionError) as refused:
            await consumer.poll(timeout=20.0)
        described = (await admin.describe_share_groups([group_id])).errors[group_id]
    for error, api in ((refused.value, "SHARE_GROUP_HEARTBEAT"), (described, "SHARE_GROUP_DESCRIBE")):
        assert str(error) == (
            f"Share groups are switched off in this cluster: the brokers refuse {api}, as the feature share.version is"
            " at level 0. Kafka 4.2 or newer has it: kafka-features.sh --bootstrap-server HOST:PORT upgrade --feature"
            " share.version=1."
        )


@everywhere
async def test_a_running_consumer_says_that_share_groups_were_switched_off(target: Target) -> None:
    topic = await target.cluster.create_topic()
    async with target.consumer(await target.new_group()) as consumer:
        await consumer.subscribe([topic.name])
        await target.cluster.produce(topic, [b"a"])
        assert await consumer.poll(timeout=20.0)
        async with without(SHARE, target.client()):
            with pytest.raises(UnsupportedVersionError, match=r"off in this cluster: the brokers refuse SHARE_.*=1\.$"):
                await consumer.poll(timeout=20.0)


@everywhere
async def test_members_say_that_streams_groups_are_off(target: Target) -> None:
    topic = await target.cluster.create_topic()
    topology = GroupTopologyBuilder().add_subtopology("0", sources=[topic.name]).build()
    app = unique("app")
    await target.cluster.coordinator_of(app)
    async with (
        without("streams.version", target.client()),
        AsyncStreamsGroupMember(
            bootstrap_servers=target.bootstrap_servers,
            application_id=app,
            topology=topology,
            environment=Environment(network=target.network),
        ) as member,
        target.admin() as admin,
    ):
        await member.join()
        with pytest.raises(UnsupportedVersionError, match=r"upgrade --feature streams\.version=1\. If its level is 1"):
            await member.poll(timeout=20.0)
        described = (await admin.describe_streams_groups([app])).errors[app]
        assert "kafka-features.sh" in str(described)
