"""A function of the user that takes longer than a request may: no connection is closed, and no transaction is lost."""

import logging
import threading

import pytest

from kafka_groups.streams import StreamsBuilder, serdes
from tests.support.application_programs import Guarantee, also_on_older_kafkas, guarantees
from tests.support.application_scene import ApplicationScene, numbered
from tests.support.conditions import until
from tests.support.targets import Target
from tests.support.topic_reader import topic_reader

pytestmark = pytest.mark.long

BLOCKED_S, REQUEST_TIMEOUT_MS, TRANSACTION_TIMEOUT_MS = 40, 30_000, 60_000


class Blocking:
    """Takes long for the third record."""

    def __init__(self) -> None:
        self.calls = 0
        self.has_begun, self.has_ended = threading.Event(), threading.Event()

    def __call__(self, value: bytes) -> bytes:
        self.calls += 1
        if value == b"old2":
            self.has_begun.set()
            threading.Event().wait(BLOCKED_S)
            self.has_ended.set()
        return value


def lost_connections(records: list[logging.LogRecord]) -> list[str]:
    """What says that a connection ended, or a request had no answer."""
    texts = [each.getMessage() for each in records if each.name.startswith("kafka_groups")]
    return [text for text in texts if "Lost the connection" in text or " failed: " in text]


@also_on_older_kafkas
@guarantees
@pytest.mark.timeout(180)
async def test_a_block_of_40_s(target: Target, guarantee: Guarantee, caplog: pytest.LogCaptureFixture) -> None:
    blocking = Blocking()

    def build(builder: StreamsBuilder, scene: ApplicationScene) -> None:
        read = builder.stream(scene.topic("in"), key=serdes.bytes_, value=serdes.bytes_)
        read.map_values(blocking, value=serdes.bytes_).to(scene.topic("out"))

    async with topic_reader(target) as reader:
        scene = ApplicationScene(target, reader, guarantee)
        await scene.make("in")
        await scene.make("out")
        given, later = numbered("old", 5), numbered("new", 5)
        keys = {"request.timeout.ms": REQUEST_TIMEOUT_MS, "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS}
        async with scene.application(build, producer=keys, consumer={"request.timeout.ms": REQUEST_TIMEOUT_MS}) as app:
            await app.wait_until_running(60)
            await scene.give(*given)

            async def has_ended() -> bool:
                return blocking.has_ended.is_set()

            await until(has_ended, bool, BLOCKED_S + 30)
            await scene.give(*later)
            await scene.until_written(*given, *later, app=app)
            assert lost_connections(caplog.records) == []
        assert blocking.calls == 10  # nothing was processed twice
        warnings = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
        assert warnings == []
