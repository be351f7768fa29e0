"""Errors about brokers that are too old, or that have a feature switched off."""

from typing import Any

import pytest

from kafka_groups.broker.faults import answer
from kafka_groups.client.features import if_switched_off, if_too_old
from kafka_groups.errors import GroupAuthorizationFailedError, UnsupportedVersionError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.testing.simulation import Simulation, run_simulated
from tests.support.old_brokers import of_an_old_broker
from tests.unit.share.clusters import TOPIC
from tests.unit.share.clusters import World as ShareWorld
from tests.unit.streams.member.clusters import World as StreamsWorld


def test_a_consumer_at_an_old_broker_says_what_to_upgrade_to() -> None:
    async def program(simulation: Simulation) -> None:
        async with ShareWorld(simulation) as world:
            world.cluster.faults.on(ApiKey.API_VERSIONS, answer(of_an_old_broker()))
            async with world.consumer() as consumer:
                await consumer.subscribe([TOPIC])
                with pytest.raises(
                    UnsupportedVersionError, match=r"does not support ShareGroupHeartbeat.* Share groups ne"
                ):
                    await consumer.poll(timeout=60)
            world.cluster.faults.clear()

    run_simulated(program, seed=1, limit_s=600)


def test_a_member_at_an_old_broker_says_what_to_upgrade_to() -> None:
    async def program(simulation: Simulation) -> None:
        async with StreamsWorld(simulation) as world:
            world.cluster.faults.on(ApiKey.API_VERSIONS, answer(of_an_old_broker()))
            async with world.member() as member:
                await member.join()
                with pytest.raises(UnsupportedVersionError, match=r"Streams groups need Kafka 4\.2 or newer\."):
                    await member.poll(timeout=60)
            world.cluster.faults.clear()

    run_simulated(program, seed=1, limit_s=600)


@pytest.mark.parametrize("api", [ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.TXN_OFFSET_COMMIT])
def test_a_broker_that_is_too_old_for_records_says_what_to_upgrade_to(api: ApiKey) -> None:
    error = UnsupportedVersionError("The broker at b:1 does not support it.")
    told = if_too_old(api, error)
    assert str(told) == f"{error} Applications need Kafka 3.7 or newer for their records."
    assert told.__cause__ is error


@pytest.mark.parametrize("about", [ApiKey.METADATA, ApiKey.OFFSET_COMMIT])
def test_errors_of_other_apis_stay_as_they_are(about: ApiKey) -> None:
    error = UnsupportedVersionError("no")
    assert if_too_old(about, error) is error
    assert if_switched_off(about, error) is error


@pytest.mark.parametrize("other", [GroupAuthorizationFailedError("no"), 7, None])
def test_other_errors_and_answers_stay_as_they_are(other: Any) -> None:
    assert if_too_old(ApiKey.SHARE_FETCH, other) is other
    assert if_switched_off(ApiKey.SHARE_FETCH, other) is other
