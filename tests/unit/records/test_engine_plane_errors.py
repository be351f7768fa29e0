"""Errors and warnings that whoever uses the plane hears of."""

import asyncio
import logging

import pytest
from attrs import evolve

from kafka_groups.broker.faults import answer
from kafka_groups.errors import (
    ClusterAuthorizationFailedError,
    DeliveryFailedError,
    LeaderNotAvailableError,
    TopicAuthorizationFailedError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.apis import APIS, ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdResponse
from kafka_groups.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafka_groups.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from kafka_groups.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kafka_groups.records.engine_plane import EnginePlane
from kafka_groups.testing.simulation import Simulation, run_simulated
from tests.unit.records.clusters import TOPIC, RecordsWorld
from tests.unit.records.planes import PATIENCE_MS, SOURCE, config_of, simulated


def test_a_failure_of_a_reader_that_reads_nothing_any_more_is_taken() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        await plane.poll(1)
        plane._restorer._manager._failures[1] = LeaderNotAvailableError("a broker was away")
        with pytest.raises(LeaderNotAvailableError):
            await plane.poll_restoring(1)
        begun_ms = world.simulation.clock.now_ms()
        await plane.wait(700)  # it would end at once, again and again
        assert world.simulation.clock.now_ms() - begun_ms == 700

    simulated(scene)


def test_offsets_that_may_not_be_read_name_principal_operation_and_topic() -> None:
    async def run(simulation: Simulation) -> None:
        async with RecordsWorld(simulation, partitions=2) as world:
            plane = EnginePlane(evolve(config_of(world), principal="User:ann"), world.environment(), dict)
            denied = ListOffsetsPartitionResponse(partition_index=0, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            refusal = ListOffsetsResponse(topics=(ListOffsetsTopicResponse(name=TOPIC, partitions=(denied,)),))
            world.cluster.faults.on(ApiKey.LIST_OFFSETS, answer(refusal))
            for asking in (plane.bounds([SOURCE]), plane.stable_bounds([SOURCE]), plane.offsets_for_times({SOURCE: 0})):
                with pytest.raises(TopicAuthorizationFailedError, match=f"User:ann needs READ on the topic {TOPIC} "):
                    await asking
            await plane.close()

    run_simulated(run, seed=1)


def test_topics_that_may_not_be_described_name_principal_operation_and_topic() -> None:
    async def run(simulation: Simulation) -> None:
        async with RecordsWorld(simulation, partitions=2) as world:
            config = evolve(config_of(world), principal="User:ann")
            world.cluster.create_topic("sink", 2)
            plane = EnginePlane(config, world.environment(), lambda: {"sink": 2})
            await plane.assign({SOURCE: 0})
            plane.write("sink", b"k", b"x", 5, (), 0)
            await plane.flush(PATIENCE_MS)
            refused = [
                MetadataResponseTopic(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name=name)
                for name in (TOPIC, "sink", "of nobody")
            ]
            world.cluster.faults.on(ApiKey.METADATA, answer(MetadataResponse(topics=tuple(refused))))
            plane._client.refresh_metadata()
            texts = [await polled_error(plane) for _ in refused]
            assert texts == [
                needs("READ", TOPIC),
                needs("WRITE", "sink"),
                needs("DESCRIBE", "of nobody", shown="'of nobody'").replace("User:ann", "User:ANONYMOUS"),
            ]
            await plane.close()

    run_simulated(run, seed=1)


def needs(operation: str, topic: str, shown: str | None = None) -> str:
    return (
        f"User:ann needs {operation} on the topic {topic} (TOPIC_AUTHORIZATION_FAILED). Grant it: kafka-groups acls "
        f"add --allow User:ann --topic {shown or topic} --operation {operation}"
    )


async def polled_error(plane: EnginePlane) -> str:
    """The text of the next missing right that a poll raises."""
    await plane.wait(PATIENCE_MS)  # until there is an error
    with pytest.raises(TopicAuthorizationFailedError) as raised:
        await plane.poll(1)
    return str(raised.value)


def test_whoever_polls_hears_of_a_fatal_error_and_a_wait_ends_at_once() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        refusal = InitProducerIdResponse(
            error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, producer_id=-1, producer_epoch=-1
        )
        world.cluster.faults.on(ApiKey.INIT_PRODUCER_ID, answer(refusal))
        plane.write("sink", b"k", b"x", 5, (), 0)
        await asyncio.wait_for(plane.wait(PATIENCE_MS), PATIENCE_MS / 2_000)
        for _ in range(2):
            with pytest.raises(ClusterAuthorizationFailedError):
                await plane.poll(10)

    simulated(scene)


@pytest.mark.parametrize(("api", "name"), [(ApiKey.FETCH, "Fetch"), (ApiKey.INIT_PRODUCER_ID, "InitProducerId")])
def test_a_broker_that_is_too_old_is_an_error_that_names_the_release(api: ApiKey, name: str) -> None:
    async def polled(plane: EnginePlane) -> None:
        for _ in range(10):
            await plane.wait(1_000)
            await plane.poll(10)

    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        served = [
            ApiVersion(api_key=key, min_version=each.versions.low, max_version=each.versions.high)
            for key, each in APIS.items()
            if key is not api
        ]
        world.cluster.faults.on(ApiKey.API_VERSIONS, answer(ApiVersionsResponse(api_keys=tuple(served))))
        await plane.assign({SOURCE: 0})
        plane.write("sink", b"k", b"x", 5, (), 0)
        text = rf"does not support {name}\b.* Applications need Kafka 3\.7 or newer for their records\."
        with pytest.raises(UnsupportedVersionError, match=text):
            await polled(plane)

    simulated(scene)


def test_warnings_come_at_growing_intervals_and_not_with_each_request(caplog: pytest.LogCaptureFixture) -> None:
    def without_replicas(request: ProduceRequest) -> ProduceResponse:
        code = ErrorCode.NOT_ENOUGH_REPLICAS
        return ProduceResponse(
            responses=tuple(
                TopicProduceResponse(
                    topic_id=topic.topic_id,
                    partition_responses=tuple(
                        PartitionProduceResponse(index=each.index, error_code=code, base_offset=-1)
                        for each in topic.partition_data
                    ),
                )
                for topic in request.topic_data
            )
        )

    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        refusals = world.cluster.faults.on(ApiKey.PRODUCE, answer(without_replicas))
        plane.write("sink", b"k", b"x", 5, (), 0)
        with caplog.at_level(logging.WARNING, "kafka_groups"), pytest.raises(DeliveryFailedError):
            await plane.flush(600_000)
        assert refusals.hits > 500
        assert 3 <= len(caplog.messages) <= 15
        assert "Could not write to sink-0. NOT_ENOUGH_REPLICAS. Retrying." in caplog.messages[0]
        assert "more since the last warning" in caplog.messages[-1]

    simulated(scene)
