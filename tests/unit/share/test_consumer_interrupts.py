"""Ctrl-C at every instant of a consumer's calls: a program that catches it can go on, and one that ends can close."""

import gc
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import count

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.share import KafkaShareConsumer
from tests.support.interrupting import interrupted_at
from tests.unit.share.clusters import GROUP, SETTINGS, TOPIC

PATIENCE_S = 10.0

# An interrupt may strike before a coroutine has begun, and in functions that Python calls when it collects objects.
cut_short = pytest.mark.filterwarnings(r"ignore:Exception ignored in. <(coroutine|function) .*")


@pytest.fixture(autouse=True)
def coroutines_cut_short_are_collected_here() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings=SETTINGS) as cluster:
        cluster.create_topic(TOPIC, 1)
        cluster.alter_group_configs("g", GROUP)
        yield cluster


def consumer_of(cluster: EmbeddedCluster) -> KafkaShareConsumer:
    return KafkaShareConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id="g", client_id="interrupted")


def loop_goes_on(consumer: KafkaShareConsumer) -> bool:
    async def wakes_the_application() -> bool:
        consumer._inbox.notify()
        return True

    return consumer._thread.run(wakes_the_application(), PATIENCE_S)


def take_until(consumer: KafkaShareConsumer, value: bytes) -> bool:
    while records := consumer.poll(PATIENCE_S):
        if any(record.value == value for record in records):
            return True
    return False


CALLS: Mapping[str, Callable[[KafkaShareConsumer], object]] = {
    "poll": lambda consumer: consumer.poll(0.001),
    "commit": lambda consumer: consumer.commit_sync(),
    "subscribe": lambda consumer: consumer.subscribe([TOPIC]),
}


@cut_short
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_ctrl_c_at_no_instant_of_a_call_spoils_the_consumer(
    cluster: EmbeddedCluster, call: Callable[[KafkaShareConsumer], object]
) -> None:
    with consumer_of(cluster) as consumer:
        consumer.subscribe([TOPIC])
        for instant in count():
            value = b"%d" % instant
            cluster.produce(TOPIC, [value])
            assert take_until(consumer, value), instant
            was_struck = interrupted_at(instant, lambda: call(consumer))
            assert loop_goes_on(consumer), instant
            if not was_struck:
                break
    assert instant > 20


@cut_short
def test_ctrl_c_at_no_instant_of_the_first_subscription_or_of_the_close_keeps_it_from_closing(
    cluster: EmbeddedCluster,
) -> None:
    for instant in count():
        consumer = consumer_of(cluster)
        began = interrupted_at(instant, partial(consumer.subscribe, [TOPIC]), spared="threading")
        consumer.subscribe([TOPIC])
        assert loop_goes_on(consumer), instant
        ended = interrupted_at(instant, consumer.close)
        consumer.close()
        assert not consumer._thread.is_running
        if not began and not ended:
            break
