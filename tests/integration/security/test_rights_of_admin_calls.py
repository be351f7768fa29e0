"""Each call of the admin client works with exactly the rights that the page about rights names."""

from collections.abc import AsyncIterator
from itertools import count

import pytest

from kafka_groups.admin import AsyncKafkaAdmin
from kafka_groups.client.assembly import Environment
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.testing.fast_settings import FAST_SETTINGS
from tests.support.rights.admin_rights import ADMIN_CALLS, AdminCall
from tests.support.rights.client_rights import ClientScene
from tests.support.rights.recorded_rights import Right
from tests.support.rights.rights_worlds import EmbeddedRights, KafkaRights, embedded_rights, kafka_rights

KAFKA = pytest.param("kafka", marks=[pytest.mark.real_kafka, pytest.mark.long])
NUMBERS = count(1)
World = EmbeddedRights | KafkaRights

pytestmark = [pytest.mark.timeout(300)]


@pytest.fixture(params=[pytest.param("embedded", marks=pytest.mark.slow), KAFKA])
async def world(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    if request.param == "embedded":
        async with embedded_rights(monkeypatch, FAST_SETTINGS, TcpNetwork()) as embedded:
            yield embedded
    else:
        async with kafka_rights("4.4.0") as kafka:
            yield kafka


async def test_calls_need_exactly_their_rights(world: World) -> None:
    for call in ADMIN_CALLS:
        await made(world, call, without=None)
        for position, right in enumerate(call.needed):
            with pytest.raises((AssertionError, KafkaGroupsError)) as caught:
                await made(world, call, without=position)
            assert is_about(right, caught.value), (call.names, right, caught.value)


def is_about(right: Right, error: BaseException) -> bool:
    """Whether an error names a right, or something was left out of a list."""
    return isinstance(error, AssertionError) or f"User:ann needs {right[0]} on " in str(error)


async def made(world: World, call: AdminCall, without: int | None) -> None:
    """Make a call in a scene of its own, perhaps without one of its rights."""
    scene = await ClientScene.new(world, next(NUMBERS))
    if call.prepare is not None:
        async with client(world, "admin") as super_user:
            await call.prepare(super_user, scene)
    rights: list[Right] = call.of(scene)
    await world.grant([right for position, right in enumerate(rights) if position != without])
    async with client(world, "ann") as admin:
        await call.run(admin, scene)


def client(world: World, user: str) -> AsyncKafkaAdmin:
    """An admin client of a user."""
    return AsyncKafkaAdmin(dict(world.keys(user)), environment=Environment(), default_api_timeout_ms=10_000)
