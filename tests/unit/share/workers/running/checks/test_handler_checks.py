"""A worker's handlers are checked against their group and topics, without a run."""

import asyncio

from kafka_groups.broker.faults import answer
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_configs import DescribeConfigsResponse, DescribeConfigsResult
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatResponse
from kafka_groups.share.workers.running.checks.handler_checks import HandlerCheck, check_handlers
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.worlds import DEAD, WorkerWorld, simulate


async def checked(world: WorkerWorld, *topics: str, dead_letters: str = DEAD) -> HandlerCheck:
    worker = world.worker()

    @worker.handler(topics, dead_letters=dead_letters)
    async def handle(value: bytes) -> None: ...

    (check,) = await check_handlers(world.settings(), worker.handlers)
    return check


def test_a_handler_that_can_run_passes() -> None:
    async def program(world: WorkerWorld) -> None:
        check = await checked(world, TOPIC)
        assert (check.handler, check.topics, check.errors, check.warnings) == ("handle", (TOPIC,), [], [])

    simulate(program)


def test_missing_topics_are_errors_and_settings_that_skip_records_are_warnings() -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.alter_group_configs("g", {"share.auto.offset.reset": "latest"})
        check = await checked(world, TOPIC, "missing")
        assert check.errors == ["The topic missing does not exist. Create it."]
        assert ["share.auto.offset.reset=latest" in warning for warning in check.warnings] == [True]
        check = await checked(world, TOPIC, dead_letters="missing")
        [error] = check.errors
        assert error.startswith("the topic dead_letters='missing' does not exist. Create it, or start the worker with")
        assert not check.is_passed

    simulate(program)


def test_a_missing_output_is_an_error() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()

        @worker.handler(TOPIC, output="missing")
        async def handle(value: bytes) -> bytes:
            return value

        ((error,),) = [check.errors for check in await check_handlers(world.settings(), worker.handlers)]
        assert error.startswith("the topic output='missing' does not exist. Create it, or start the worker with")

    simulate(program)


def test_settings_that_brokers_refuse_to_show_are_a_warning() -> None:
    async def program(world: WorkerWorld) -> None:
        refused = DescribeConfigsResult(
            error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED, error_message="no", resource_type=32, resource_name="g"
        )
        world.cluster.faults.on(ApiKey.DESCRIBE_CONFIGS, answer(DescribeConfigsResponse(results=(refused,))))
        check = await checked(world, TOPIC)
        assert check.is_passed
        assert ["assumes Kafka's defaults: 5 deliveries" in warning for warning in check.warnings] == [True]

    simulate(program)


def test_brokers_may_need_some_time_to_answer() -> None:
    async def program(world: WorkerWorld) -> None:
        loop = asyncio.get_running_loop()
        (node,) = world.cluster.running_brokers
        await world.cluster.kill_broker_async(node)

        async def start() -> None:
            await asyncio.sleep(20)
            await world.cluster.start_broker_async(node)

        starting = loop.create_task(start())
        check = await checked(world, TOPIC)
        assert starting.done()
        assert check.is_passed, check.errors

    simulate(program)


def test_brokers_that_never_answer_are_an_error_after_half_a_minute() -> None:
    async def program(world: WorkerWorld) -> None:
        begun_s = asyncio.get_running_loop().time()
        await world.cluster.kill_broker_async(*world.cluster.running_brokers)
        check = await checked(world, TOPIC)
        assert not check.is_passed
        assert 30 <= asyncio.get_running_loop().time() - begun_s < 40
        assert world.cluster.bootstrap_servers in check.errors[0]

    simulate(program)


def test_a_missing_right_is_an_error() -> None:
    async def program(world: WorkerWorld) -> None:
        refused = ShareGroupHeartbeatResponse(
            error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED, member_epoch=0, heartbeat_interval_ms=0
        )
        world.cluster.faults.on(ApiKey.SHARE_GROUP_HEARTBEAT, answer(refused))
        [error] = (await checked(world, TOPIC)).errors
        assert error.startswith("User:ANONYMOUS needs READ on the group g (GROUP_AUTHORIZATION_FAILED). Grant it: ")

    simulate(program)
