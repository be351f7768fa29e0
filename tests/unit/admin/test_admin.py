"""The blocking admin client: the same surface as the asynchronous one, for any number of threads."""

import inspect
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import kafka_groups
from kafka_groups.admin import AsyncKafkaAdmin, KafkaAdmin
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import delay
from kafka_groups.errors import BootstrapError, ClosedError, ConfigurationError, IllegalStateError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.types import TopicPartition

FIRST = TopicPartition("orders", 0)


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as cluster:
        cluster.create_topic("orders")
        yield cluster


def public(cls: type) -> dict[str, Any]:
    return {name: getattr(cls, name) for name in dir(cls) if not name.startswith("_")}


def shape(function: Callable[..., Any]) -> list[tuple[str, Any, Any, Any]]:
    return [(p.name, p.kind, p.default, p.annotation) for p in inspect.signature(function).parameters.values()]


def test_the_surfaces_are_the_same() -> None:
    blocking, asynchronous = public(KafkaAdmin), public(AsyncKafkaAdmin)
    assert blocking.keys() == asynchronous.keys()
    for name, method in blocking.items():
        twin = asynchronous[name]
        assert shape(method) == shape(twin)
        assert inspect.getdoc(method) == inspect.getdoc(twin)
        assert inspect.get_annotations(method)["return"] == inspect.get_annotations(twin)["return"]
        assert inspect.iscoroutinefunction(twin)
        assert not inspect.iscoroutinefunction(method)
    assert shape(KafkaAdmin.__init__) == shape(AsyncKafkaAdmin.__init__)
    assert kafka_groups.KafkaAdmin is KafkaAdmin
    assert kafka_groups.AsyncKafkaAdmin is AsyncKafkaAdmin


def test_every_method_answers(cluster: EmbeddedCluster) -> None:
    name = "share.delivery.count.limit"
    with KafkaAdmin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        assert admin.alter_share_group_offsets("g", {FIRST: 0}).values == {FIRST: None}
        assert admin.reset_share_group_offsets("g", "latest", ["orders"]).values == {FIRST: 0}
        assert [group.group_id for group in admin.list_share_groups().groups] == ["g"]
        assert admin.describe_share_groups(["g"])["g"].total_lag == 0
        assert admin.describe_share_group_offsets(["g"])["g"][FIRST].lag == 0
        assert admin.alter_group_configs({"g": {name: "7"}}).values == {"g": None}
        assert admin.describe_group_configs(["g"])["g"][name].value == "7"
        assert len(admin.remove_members("absent", ["one"]).errors) == 1
        assert admin.delete_share_group_offsets("g", ["orders"]).values == {"orders": None}
        assert admin.delete_share_groups(["g"]).values == {"g": None}


def test_threads_may_share_a_client(cluster: EmbeddedCluster) -> None:
    before = set(threading.enumerate())
    with KafkaAdmin(bootstrap_servers=cluster.bootstrap_servers) as admin, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _number: admin.list_share_groups().groups, range(40)))
        assert found == [()] * 40
        assert cluster.open_connections == 1
    assert set(threading.enumerate()) <= before


def test_close_ends_calls_of_other_threads_and_forbids_more(cluster: EmbeddedCluster) -> None:
    admin = KafkaAdmin(bootstrap_servers=cluster.bootstrap_servers)
    admin.list_share_groups()
    held = cluster.faults.on(ApiKey.FIND_COORDINATOR, delay(60_000))
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(admin.describe_share_groups, ["g"])
        while not held.hits:
            threading.Event().wait(0.001)
        admin.close()
        with pytest.raises(ClosedError):
            asking.result(10)
    with pytest.raises(ClosedError):
        admin.list_share_groups()
    admin.close()


def test_a_client_that_was_never_used_starts_nothing() -> None:
    before = set(threading.enumerate())
    admin = KafkaAdmin(bootstrap_servers="127.0.0.1:1")
    assert set(threading.enumerate()) <= before
    admin.close()
    with pytest.raises(ClosedError):
        admin.list_share_groups()


def test_nobody_answers() -> None:
    with KafkaAdmin(bootstrap_servers="127.0.0.1:1") as admin, pytest.raises(BootstrapError):
        admin.list_share_groups(timeout=0.2)


def test_a_client_that_is_not_closed_says_so_and_ends_its_thread(cluster: EmbeddedCluster) -> None:
    admin = KafkaAdmin(bootstrap_servers=cluster.bootstrap_servers)
    admin.list_share_groups()
    with pytest.warns(ResourceWarning, match="KafkaAdmin"):
        del admin
    assert not [thread for thread in threading.enumerate() if thread.name == "kafka-admin"]


def test_a_forked_process_cannot_use_the_client_of_its_parent(cluster: EmbeddedCluster) -> None:
    with KafkaAdmin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        admin.list_share_groups()
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                admin.list_share_groups()
            except IllegalStateError:
                admin.close()
                os.write(writer, b"refused")
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            assert pipe.read() == b"refused"
        os.waitpid(child, 0)
        assert admin.list_share_groups().groups == ()


def test_wrong_keys_are_named() -> None:
    with pytest.raises(ConfigurationError, match=r"Unknown configuration key 'group.id' \('g'\) for an admin client"):
        KafkaAdmin({"bootstrap.servers": "b:1", "group.id": "g"})
