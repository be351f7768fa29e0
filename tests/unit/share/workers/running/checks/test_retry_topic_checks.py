"""Retry topics are checked before the first fetch."""

from collections.abc import Mapping

import pytest

from kafka_groups.broker.faults import answer
from kafka_groups.errors import ConfigurationError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_configs import DescribeConfigsResponse, DescribeConfigsResult
from kafka_groups.share import RetryTopics, Worker
from kafka_groups.share.workers.running.checks.handler_checks import HandlerCheck, check_handlers
from kafka_groups.share.workers.running.checks.preflight import check_group_dead_letters
from kafka_groups.share.workers.running.checks.retry_topic_checks import retry_topic_configs
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.worlds import DEAD, WorkerWorld, simulate

FITTING = retry_topic_configs(10_000)


async def checked(world: WorkerWorld, *, creates: Mapping[str, Mapping[str, str]]) -> HandlerCheck:
    for topic, configs in creates.items():
        world.cluster.create_topic(topic, 1, configs=configs)
    worker = world.worker()

    @worker.handler(TOPIC, dead_letters=DEAD, retry_topics=RetryTopics("r", delays=(10, 60)))
    async def handle(value: bytes) -> None: ...

    (check,) = await check_handlers(world.settings(), worker.handlers)
    return check


def test_topics_as_the_command_creates_them_fit() -> None:
    async def program(world: WorkerWorld) -> None:
        check = await checked(world, creates={"r.10s": FITTING, "r.1m": FITTING})
        assert (check.errors, check.warnings) == ([], [])

    simulate(program)


def test_missing_topics_are_named_with_the_option_that_creates_them() -> None:
    async def program(world: WorkerWorld) -> None:
        check = await checked(world, creates={"r.10s": FITTING})
        [error] = check.errors
        assert error.startswith(
            "the retry topics r.1m do not exist. Start the worker with `kafka-groups worker --create"
        )

    simulate(program)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("message.timestamp.type", "CreateTime", "so records whose delay is over may wait behind others"),
        ("cleanup.policy", "compact", "of several records with one key, all but the last would be lost"),
        ("cleanup.policy", "compact,delete", "of several records with one key, all but the last would be lost"),
        ("retention.ms", "9999", "so records are deleted before their delay of 10000 ms is over"),
    ],
)
def test_topics_that_lose_or_delay_records_are_refused_with_the_command_that_repairs_them(
    key: str, value: str, text: str
) -> None:
    async def program(world: WorkerWorld) -> None:
        check = await checked(world, creates={"r.10s": {**FITTING, key: value}, "r.1m": FITTING})
        [error] = check.errors
        assert f"The retry topic r.10s has {key}={value}" in error
        assert text in error
        assert f"Run `kafka-groups topics configs r.10s --set {key}={FITTING[key]}`" in error

    simulate(program)


def test_topics_with_the_brokers_defaults_have_the_wrong_timestamps() -> None:
    async def program(world: WorkerWorld) -> None:
        [error] = (await checked(world, creates={"r.10s": {}, "r.1m": {}})).errors
        assert error.count("has message.timestamp.type=CreateTime") == 2

    simulate(program)


@pytest.mark.parametrize(("kept_ms", "warnings"), [("-1", 0), ("604800000", 0), ("604799999", 1)])
def test_a_short_retention_is_a_warning(kept_ms: str, warnings: int) -> None:
    async def program(world: WorkerWorld) -> None:
        check = await checked(world, creates={"r.10s": {**FITTING, "retention.ms": kept_ms}, "r.1m": FITTING})
        assert (check.errors, len(check.warnings)) == ([], warnings)
        assert all("The retry topic r.10s keeps records for 604799999 ms" in text for text in check.warnings)

    simulate(program)


def test_topics_that_may_not_be_described_are_refused() -> None:
    async def program(world: WorkerWorld) -> None:
        refused = tuple(
            DescribeConfigsResult(
                error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                error_message="no",
                resource_type=2,
                resource_name=topic,
            )
            for topic in ("r.10s", "r.1m")
        )
        world.cluster.faults.on(
            ApiKey.DESCRIBE_CONFIGS,
            answer(DescribeConfigsResponse(results=refused)),
            when=lambda request: request.resources[0].resource_type == 2,
        )
        [error] = (await checked(world, creates={"r.10s": FITTING, "r.1m": FITTING})).errors
        assert "the worker cannot read the configuration of the retry topic r.10s" in error
        assert "needs DESCRIBE_CONFIGS on the topic r.10s " in error

    simulate(program)


def test_the_brokers_own_topic_for_dead_letters_does_not_fit() -> None:
    worker = Worker("g", bootstrap_servers="x:1")
    worker.handler("t", dead_letters="dead", retry_topics=RetryTopics("r"), name="handle")(print)
    with pytest.raises(
        ConfigurationError, match=r"retry_topics='r', and the brokers copy rejected records of .* g to own \("
    ):
        check_group_dead_letters(worker.handlers[0], "g", "own")
