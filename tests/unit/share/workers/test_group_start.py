"""The start of a group is set before its first member joins, if nobody has set it before."""

import logging
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups.admin.rules.group_configs import describe_configs
from kafka_groups.broker.faults import answer
from kafka_groups.client.calls.client import admin_client
from kafka_groups.errors import ConfigurationError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_configs import (
    DEFAULT_CONFIG,
    GROUP_CONFIG,
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kafka_groups.protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from kafka_groups.share.workers.running.checks.handler_checks import check_handlers
from kafka_groups.share.workers.running.handler_setup import connection_of
from kafka_groups.share.workers.start_option import RESET, checked_start
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.retry_worlds import RetryStage
from tests.unit.share.workers.worlds import WorkerWorld, reach, simulate

COMMAND = f"kafka-groups groups configs g --set {RESET}=earliest"
DESCRIBED, ALTERED = ApiKey.DESCRIBE_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS


async def own_reset(world: WorkerWorld) -> str | None:
    """The group's own start; None if it has none."""
    client = admin_client(*connection_of(world.settings()))
    try:
        configs = (await describe_configs(client.within(5_000), ["g"]))["g"]
        return configs[RESET].value if configs[RESET].is_set else None
    finally:
        await client.close()


async def values_handled(world: WorkerWorld, start: Any, count: int, **settings: Any) -> list[bytes]:
    """Run a worker until it has handled so many records."""
    worker, handled = world.worker(), list[bytes]()

    @worker.handler(TOPIC)
    async def handle(value: bytes) -> None:
        handled.append(value)

    async with world.running(worker, start=checked_start(start, "g"), **settings):
        await reach(lambda: len(handled) >= count)
    return handled


async def start(world: WorkerWorld, declared: Any = "earliest", **settings: Any) -> None:
    """Start a worker, and stop it."""
    await values_handled(world, declared, 0, **settings)


async def errors_of_check(world: WorkerWorld, declared: Any = "earliest") -> str:
    """The errors that a check reports."""
    worker = world.worker()

    @worker.handler(TOPIC)
    async def handle(value: bytes) -> None: ...

    (check,) = await check_handlers(world.settings(start=checked_start(declared, "g")), worker.handlers)
    assert not [warning for warning in check.warnings if RESET in warning], "the worker says where it starts"
    return "; ".join(check.errors)


def unset(world: WorkerWorld) -> None:
    world.cluster.alter_group_configs("g", {RESET: None})


def refuse(
    world: WorkerWorld,
    api: ApiKey,
    code: ErrorCode = ErrorCode.GROUP_AUTHORIZATION_FAILED,
    group_id: str = "g",
) -> None:
    """Refuse requests about the group's configuration."""
    described = DescribeConfigsResult(error_code=code, error_message="no", resource_type=32, resource_name=group_id)
    altered = AlterConfigsResourceResponse(
        error_code=code, error_message="no", resource_type=32, resource_name=group_id
    )
    answers = {
        DESCRIBED: DescribeConfigsResponse(results=(described,)),
        ALTERED: IncrementalAlterConfigsResponse(responses=(altered,)),
    }
    world.cluster.faults.on(
        api, answer(answers[api]), when=lambda request: request.resources[0].resource_name == group_id
    )


def shown(value: str, source: int) -> DescribeConfigsResponse:
    """A description of the group's start alone."""
    config = DescribeConfigsResourceResult(
        name=RESET, value=value, read_only=False, is_sensitive=False, config_source=source
    )
    described = DescribeConfigsResult(resource_type=32, resource_name="g", configs=(config,))
    return DescribeConfigsResponse(results=(described,))


def asks_alone(request: DescribeConfigsRequest) -> bool:
    """Return whether a request asks for nothing but the start."""
    return request.resources[0].configuration_keys == (RESET,)


# ---------------------------------------------------------------------------------------------- it is set


def test_a_group_without_a_start_of_its_own_gets_it_and_the_first_records_are_not_skipped() -> None:
    async def program(world: WorkerWorld) -> None:
        unset(world)
        await world.produce([b"first", b"second"])
        assert await values_handled(world, "earliest", 2) == [b"first", b"second"]
        assert await own_reset(world) == "earliest"

    simulate(program)


@pytest.mark.parametrize(
    ("declared", "reset"), [("latest", "latest"), (timedelta(hours=1), "by_duration:PT1H")], ids=["latest", "duration"]
)
def test_the_brokers_default_does_not_count_as_set(declared: Any, reset: str) -> None:
    async def program(world: WorkerWorld) -> None:
        unset(world)
        await start(world, declared)
        assert await own_reset(world) == reset

    simulate(program)


@pytest.mark.parametrize(("declared", "own"), [("earliest", "earliest"), (timedelta(hours=1), "by_duration:PT60M")])
def test_a_group_that_has_it_already_needs_no_right_to_change_it(declared: Any, own: str) -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.alter_group_configs("g", {RESET: own})
        refuse(world, ALTERED)
        assert await errors_of_check(world, declared) == ""
        await start(world, declared)
        assert await own_reset(world) == own

    simulate(program)


def test_processes_of_a_worker_leave_it_to_their_parent() -> None:
    async def program(world: WorkerWorld) -> None:
        unset(world)
        await start(world, sets_start=False)
        assert await own_reset(world) is None

    simulate(program)


def test_a_worker_joins_only_when_all_brokers_show_the_start() -> None:
    async def program(world: WorkerWorld) -> None:
        unset(world)
        slow = world.cluster.faults.on(
            DESCRIBED, answer(shown("latest", DEFAULT_CONFIG)), times=5, when=asks_alone, node_id=3
        )
        joined: list[int] = []

        def note(_: object) -> bool:
            joined.append(slow.hits)
            return False

        world.cluster.faults.on(ApiKey.SHARE_GROUP_HEARTBEAT, answer(ErrorCode.NONE), when=note)
        await world.produce([b"first"])
        assert await values_handled(world, "earliest", 1) == [b"first"]
        assert set(joined) == {5}

    simulate(program, brokers=3)


def test_a_broker_that_never_shows_the_start_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    async def program(world: WorkerWorld) -> None:
        unset(world)
        world.cluster.faults.on(DESCRIBED, answer(shown("latest", DEFAULT_CONFIG)), when=asks_alone)
        await start(world)
        (warning,) = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
        assert warning.startswith(f"The brokers 1 have not shown {RESET} of the share group g yet.")

    simulate(program)


# ---------------------------------------------------------------------------------------------- it is refused


def test_another_start_of_the_group_is_refused_and_kept() -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.alter_group_configs("g", {RESET: "by_duration:PT2H"})
        message = f"start='earliest': the share group g has {RESET}=by_duration:PT2H. Change one of them. .*: {COMMAND}"
        with pytest.raises(ConfigurationError, match=message):
            await start(world)
        assert COMMAND in await errors_of_check(world)
        assert await own_reset(world) == "by_duration:PT2H"

    simulate(program)


def test_two_workers_that_set_different_starts_at_once_are_told() -> None:
    async def program(world: WorkerWorld) -> None:
        unset(world)
        # The other one is asked for by all that look for the value, and comes between the question and the change.
        world.cluster.faults.on(DESCRIBED, answer(shown("latest", GROUP_CONFIG)), when=asks_alone)
        world.cluster.faults.on(DESCRIBED, answer(shown("latest", DEFAULT_CONFIG)), times=2)
        world.cluster.faults.on(DESCRIBED, answer(shown("latest", GROUP_CONFIG)))
        with pytest.raises(ConfigurationError, match=f"the share group g has {RESET}=latest"):
            await start(world)

    simulate(program)


@pytest.mark.parametrize(
    ("api", "message"),
    [
        (
            DESCRIBED,
            f"cannot read .* needs DESCRIBE_CONFIGS on the group g .*ALTER_CONFIGS .*, too, unless .* {COMMAND}",
        ),
        (ALTERED, f"cannot set .* needs ALTER_CONFIGS on the group g .* Or have the start set with {COMMAND}"),
    ],
    ids=["read", "set"],
)
def test_missing_rights_are_named(api: ApiKey, message: str) -> None:
    async def program(world: WorkerWorld) -> None:
        unset(world)
        refuse(world, api)
        with pytest.raises(ConfigurationError, match=message):
            await start(world)

    simulate(program)


@pytest.mark.parametrize("api", [DESCRIBED, ALTERED])
def test_missing_rights_on_the_group_of_the_retry_topics_are_named(api: ApiKey) -> None:
    async def program(world: WorkerWorld) -> None:
        stage, worker = RetryStage(world), world.worker()
        worker.handler(TOPIC, **stage.options())(lambda value: None)
        world.cluster.alter_group_configs("g-retry", {RESET: None})
        refuse(world, api, group_id="g-retry")
        with pytest.raises(ConfigurationError, match=f"the share group g-retry.* configs g-retry --set {RESET}=earl"):
            await world.runtime(worker).start()

    simulate(program)


def test_brokers_that_refuse_the_value_are_quoted_without_advice_about_rights() -> None:
    async def program(world: WorkerWorld) -> None:
        unset(world)
        refuse(world, ALTERED, ErrorCode.INVALID_CONFIG)
        with pytest.raises(ConfigurationError, match=f"cannot set {RESET} of the share group g: no.$"):
            await start(world)

    simulate(program)


def test_a_check_changes_nothing_and_finds_what_would_be_refused() -> None:
    async def program(world: WorkerWorld) -> None:
        unset(world)
        assert await errors_of_check(world) == ""
        assert await own_reset(world) is None
        refuse(world, ALTERED)
        assert "needs ALTER_CONFIGS on the group g" in await errors_of_check(world)

    simulate(program)
