"""Each of our clients works with exactly the rights that its page names, and says which one is missing."""

from collections.abc import AsyncIterator, Iterator
from itertools import count
from typing import Any

import pytest

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.testing.fast_settings import FAST_SETTINGS
from tests.support.rights.client_rights import CLIENTS, ClientRights, ClientScene
from tests.support.rights.recorded_rights import Right
from tests.support.rights.rights_worlds import EmbeddedRights, KafkaRights, embedded_rights, kafka_rights

QUICK = frozenset({"Share consumer", "Worker", "Worker with `start=`", "Streams application, group of streams"})
"""Clients whose tests are in `.ci/run`."""

pytestmark = [pytest.mark.timeout(300)]


def cases() -> Iterator[Any]:
    """Each client on each broker."""
    for client in CLIENTS:
        mark = pytest.mark.slow if client.name in QUICK else pytest.mark.long
        yield pytest.param("embedded", client, id=f"embedded-{client.name}", marks=mark)
        yield pytest.param("kafka", client, id=f"kafka-{client.name}", marks=[pytest.mark.real_kafka, pytest.mark.long])


@pytest.fixture
async def world(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[EmbeddedRights | KafkaRights]:
    if request.param == "embedded":
        async with embedded_rights(monkeypatch, FAST_SETTINGS, TcpNetwork()) as embedded:
            yield embedded
    else:
        async with kafka_rights("4.4.0") as kafka:
            yield kafka


@pytest.mark.parametrize(("world", "client"), list(cases()), indirect=["world"])
async def test_a_client_needs_exactly_its_rights(
    world: EmbeddedRights | KafkaRights, client: ClientRights, caplog: pytest.LogCaptureFixture
) -> None:
    numbers = count(1)
    scene = await ClientScene.new(world, next(numbers))
    await world.grant(client.of(scene))
    await client.run(scene)
    for position in range(len(client.needed)):
        await check_without(position, client, await ClientScene.new(world, next(numbers)), caplog)


async def check_without(
    position: int, client: ClientRights, scene: ClientScene, caplog: pytest.LogCaptureFixture
) -> None:
    """Check what a client says without one of its rights."""
    rights = client.of(scene)
    missing = rights.pop(position)
    await scene.world.grant(rights)
    caplog.clear()
    with pytest.raises((AssertionError, KafkaGroupsError)) as caught:
        await client.run(scene)
    # Some clients wait for a right, and say so in their log.
    text = f"{caught.value!r} {caught.value.__cause__!r}\n{caplog.text}"
    assert names(missing, text), (missing, text)


def names(missing: Right, text: str) -> bool:
    """Whether a line of an error or of the log names the resource, and ends with the command that grants the right."""
    *_, name = missing
    return any(name.removesuffix("*") in line and "acls add" in line for line in text.splitlines())
