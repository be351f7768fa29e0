"""The two share consumers have the same surface: names, parameters, defaults; and start nothing by themselves."""

import asyncio
import inspect
import re
import threading
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from functools import partial
from typing import Any, cast

import confluent_kafka
import pytest

import kafka_groups
from kafka_groups.errors import ClosedError, ConfigurationError, IllegalStateError
from kafka_groups.share import AsyncKafkaShareConsumer, KafkaShareConsumer, ShareRecord, ShareRecords

WAITING = {"subscribe", "unsubscribe", "poll", "commit_sync", "renew", "lag", "group_config", "close"}
"""What the asynchronous consumer has to be awaited for; everything else is local in both."""

PAIRED = {"__aenter__": "__enter__", "__aexit__": "__exit__", "__aiter__": "__iter__"}


def public(cls: type) -> dict[str, Any]:
    members = {name: member for base in reversed(cls.__mro__[:-1]) for name, member in vars(base).items()}
    return {name: member for name, member in members.items() if not name.startswith("_")}


def shape(function: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


def test_the_names_are_the_same() -> None:
    # `await consumer.commit()`: what is called commit_sync is no call that blocks, in asyncio.
    assert public(AsyncKafkaShareConsumer).keys() - {"commit"} == public(KafkaShareConsumer).keys()
    for asynchronous, blocking in PAIRED.items():
        assert asynchronous in vars(AsyncKafkaShareConsumer)
        assert blocking in vars(KafkaShareConsumer)


@pytest.mark.parametrize("name", sorted(public(KafkaShareConsumer)))
def test_each_name_means_the_same(name: str) -> None:
    ours, theirs = public(KafkaShareConsumer)[name], public(AsyncKafkaShareConsumer)[name]
    assert isinstance(ours, property) == isinstance(theirs, property)
    if isinstance(ours, property):
        return
    assert shape(ours) == shape(theirs)
    assert inspect.iscoroutinefunction(theirs) == (name in WAITING)
    assert not inspect.iscoroutinefunction(ours)
    hints, their_hints = inspect.get_annotations(ours), inspect.get_annotations(theirs)
    assert hints == their_hints


@pytest.mark.parametrize("cls", [KafkaShareConsumer, AsyncKafkaShareConsumer])
def test_everything_public_is_documented(cls: type) -> None:
    assert inspect.getdoc(cls)
    for name, member in public(cls).items():
        text = inspect.getdoc(member)
        assert text, name
        assert text.splitlines()[0].endswith((".", "`.")), name
    for name in WAITING - {"close", "unsubscribe"}:
        assert "Raises:" in (inspect.getdoc(public(cls)[name]) or ""), name


def test_the_blocking_class_explains_itself() -> None:
    for name, member in public(KafkaShareConsumer).items():
        assert "AsyncKafkaShareConsumer" not in (inspect.getdoc(member) or ""), name
    assert "AsyncKafkaShareConsumer" not in (inspect.getdoc(KafkaShareConsumer) or "")


@pytest.mark.parametrize("cls", [KafkaShareConsumer, AsyncKafkaShareConsumer, ShareRecord, ShareRecords])
def test_nothing_internal_is_public(cls: type) -> None:
    assert not {"raw", "acquired", "deliveries", "marks"} & set(public(cls))
    assert not [base.__name__ for base in cls.__mro__ if base.__name__ == "LocalSurface"]


def test_what_users_get_is_exported() -> None:
    for name in ("Acknowledged", "ArchivedRecords", "CommitResult", "ConsumerCounts", "DeserializationContext"):
        assert name in kafka_groups.__all__
        assert getattr(kafka_groups, name) is getattr(kafka_groups.share, name)


def test_both_constructors_take_the_same() -> None:
    assert shape(KafkaShareConsumer.__init__) == shape(AsyncKafkaShareConsumer.__init__)


def test_iterating_is_the_same_in_both() -> None:
    assert inspect.get_annotations(AsyncKafkaShareConsumer.__aiter__)["return"].__origin__ is AsyncIterator


def test_a_constructor_starts_no_thread() -> None:
    before = set(threading.enumerate())
    consumer = KafkaShareConsumer(bootstrap_servers="nowhere.invalid:1", group_id="g")
    assert set(threading.enumerate()) <= before  # those of earlier tests may end meanwhile
    assert consumer.subscription() == frozenset()
    assert consumer.acquisition_lock_timeout is None
    assert consumer.metrics()["fetch-total"] == 0
    assert "g unsubscribed" in repr(consumer)
    consumer.close()
    consumer.close()
    assert set(threading.enumerate()) <= before  # those of earlier tests may end meanwhile
    assert "closed" in repr(consumer)


async def test_a_constructor_starts_no_task() -> None:
    before = asyncio.all_tasks()
    consumer = AsyncKafkaShareConsumer(bootstrap_servers="nowhere.invalid:1", group_id="g")
    assert asyncio.all_tasks() == before
    await consumer.close()
    await consumer.close()
    assert asyncio.all_tasks() == before


def test_a_consumer_may_be_constructed_without_an_event_loop() -> None:
    assert AsyncKafkaShareConsumer(bootstrap_servers="nowhere.invalid:1", group_id="g").subscription() == frozenset()


def test_before_subscribing_and_after_closing() -> None:
    consumer = KafkaShareConsumer(bootstrap_servers="nowhere.invalid:1", group_id="g")
    with pytest.raises(IllegalStateError, match="subscribe"):
        consumer.poll(0)
    assert consumer.commit_sync() == {}
    consumer.commit_async()
    consumer.unsubscribe()
    consumer.close()
    for call in (
        lambda: consumer.poll(0),
        lambda: consumer.subscribe(["t"]),
        consumer.unsubscribe,
        consumer.commit_sync,
        consumer.commit_async,
        lambda: consumer.set_acknowledgement_callback(None),
    ):
        with pytest.raises(ClosedError):
            call()


async def test_before_subscribing_and_after_closing_asynchronously() -> None:
    consumer = AsyncKafkaShareConsumer(bootstrap_servers="nowhere.invalid:1", group_id="g")
    with pytest.raises(IllegalStateError, match="subscribe"):
        await consumer.poll(0)
    assert await consumer.commit_sync() == {}
    await consumer.unsubscribe()
    await consumer.close()
    with pytest.raises(ClosedError):
        await consumer.poll(0)


@pytest.mark.parametrize("topics", ["orders", [""], [7], [b"orders"], ["orders-.*"]])
def test_topics_must_be_a_collection_of_names(topics: Any) -> None:
    consumer = KafkaShareConsumer(bootstrap_servers="nowhere.invalid:1", group_id="g")
    with pytest.raises(ConfigurationError, match="topics"):
        consumer.subscribe(topics)
    assert consumer.subscription() == frozenset()
    consumer.close()


def test_bad_configurations_leave_nothing_behind() -> None:
    before = set(threading.enumerate())
    with pytest.raises(ConfigurationError, match="no_such_key"):
        KafkaShareConsumer({"no_such_key": 1}, bootstrap_servers="b:1", group_id="g")
    assert set(threading.enumerate()) <= before  # those of earlier tests may end meanwhile


EXPLICIT: dict[str, Any] = {
    "bootstrap_servers": "nowhere.invalid:1",
    "group_id": "g",
    "acknowledgement_mode": "explicit",
}


@pytest.mark.parametrize("timeout", [-1, float("nan"), "5", timedelta(seconds=5), True])
def test_every_time_is_checked(timeout: Any) -> None:
    consumer = KafkaShareConsumer(**EXPLICIT)
    for call in (consumer.poll, consumer.commit_sync, partial(consumer.renew, None), consumer.close):
        with pytest.raises(ConfigurationError, match=r"timeout=.*(None |timedelta|give an int or float)"):
            call(timeout=timeout)
    consumer.close(timeout=None)


@pytest.mark.parametrize("wrong", [-1, float("nan"), "5", timedelta(seconds=5), True])
async def test_every_time_is_checked_asynchronously(wrong: Any) -> None:
    consumer = AsyncKafkaShareConsumer(**EXPLICIT)
    for call in (consumer.poll, consumer.commit_sync, partial(consumer.renew, None), consumer.close):
        with pytest.raises(ConfigurationError, match=r"timeout=.*(None |timedelta|give an int or float)"):
            await call(timeout=wrong)
    await consumer.close(timeout=None)


@pytest.mark.parametrize(
    ("kind", "meant"),
    [
        (7, "AcknowledgeType.ACCEPT, RELEASE, REJECT or RENEW"),
        (2, r"AcknowledgeType\.RELEASE"),
        ("accept", r"AcknowledgeType\.ACCEPT"),
        ("done", "AcknowledgeType.ACCEPT, RELEASE"),
        (None, "AcknowledgeType.ACCEPT, RELEASE"),
        (True, "AcknowledgeType.ACCEPT, RELEASE"),
        ([], "AcknowledgeType.ACCEPT, RELEASE"),
    ],
)
def test_the_kind_of_an_acknowledgement_is_checked(kind: Any, meant: str) -> None:
    record: Any = None
    consumer, records = KafkaShareConsumer(**EXPLICIT), ShareRecords[bytes, bytes]()
    for call in (
        lambda: consumer.acknowledge(record, kind),
        lambda: consumer.acknowledge_offset("t", 0, 0, kind),
        lambda: consumer.acknowledge_range("t", 0, 0, 0, kind),
        lambda: consumer.acknowledge_all(records, kind),
    ):
        with pytest.raises(ConfigurationError, match=rf"kind={re.escape(repr(kind))} is not kafka_groups.*{meant}"):
            call()
    consumer.close()


@pytest.mark.parametrize("wrong", [None, "x", 7, b"x"])
def test_what_is_not_a_record_is_refused(wrong: Any) -> None:
    consumer = KafkaShareConsumer(**EXPLICIT)
    with pytest.raises(ConfigurationError, match=r"is not a record: give one that poll\(\) returned"):
        consumer.acknowledge(wrong)
    with pytest.raises(ConfigurationError, match=r"is not a batch"):
        consumer.acknowledge_all(wrong)
    with pytest.raises(ConfigurationError, match=r"callback=.* is not callable: give a function of one argument"):
        consumer.set_acknowledgement_callback(cast(Any, "x" if wrong is None else wrong))
    if wrong is not None:
        with pytest.raises(ConfigurationError, match=r"target=.* is not a record or a batch"):
            consumer.renew(wrong)
    consumer.close()


def test_the_type_of_another_client_is_named_with_its_client() -> None:
    consumer, theirs = KafkaShareConsumer(**EXPLICIT), cast(Any, confluent_kafka.AcknowledgeType.RELEASE)
    with pytest.raises(ConfigurationError) as refused:
        consumer.acknowledge_offset("t", 0, 0, theirs)
    assert str(refused.value) == (
        "kind=confluent_kafka.AcknowledgeType.RELEASE is not kafka_groups.AcknowledgeType: give"
        " kafka_groups.AcknowledgeType.RELEASE"
    )
    consumer.close()


@pytest.mark.parametrize("wrong", [None, 7, "xy", b"xy", {1: 2}, [None], ["x"]])
def test_acknowledge_all_takes_records_only(wrong: Any) -> None:
    consumer = KafkaShareConsumer(**EXPLICIT)
    with pytest.raises(ConfigurationError, match=r"is not a (batch|record): give what poll\(\) returned, or a list of"):
        consumer.acknowledge_all(wrong)
    consumer.close()


@pytest.mark.parametrize("wrong", [-1, "5", None])
def test_the_timeout_of_close_is_checked(wrong: Any) -> None:
    for kind in (KafkaShareConsumer, AsyncKafkaShareConsumer):
        with pytest.raises(ConfigurationError, match=f"close_timeout={wrong!r} is"):
            kind(**EXPLICIT, close_timeout=wrong)
