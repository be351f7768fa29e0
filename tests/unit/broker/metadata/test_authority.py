"""The authority: each image is published once and in order, and never while it is made."""

import random
from collections.abc import Callable
from functools import partial

import pytest

from kafka_groups.broker.metadata import changes
from kafka_groups.broker.metadata.authority import Authority
from kafka_groups.broker.metadata.changes import NewTopic
from kafka_groups.broker.metadata.delta import MetadataDelta
from kafka_groups.broker.metadata.edit import MetadataEdit
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.broker.metadata.topics import BrokerEndpoint
from kafka_groups.errors import TopicAlreadyExistsError


class Heard:
    """A listener that notes what it hears, and does something after the first time."""

    def __init__(self, then: Callable[[], object] | None = None) -> None:
        self.images: list[MetadataImage] = []
        self.deltas: list[MetadataDelta] = []
        self.then = then

    def __call__(self, image: MetadataImage, delta: MetadataDelta) -> None:
        self.images.append(image)
        self.deltas.append(delta)
        if self.then is not None and len(self.images) == 1:
            self.then()

    @property
    def versions(self) -> list[int]:
        return [delta.version for delta in self.deltas]

    @property
    def created(self) -> list[str]:
        return [topic.name for delta in self.deltas for topic in delta.created]


@pytest.fixture
def authority() -> Authority:
    authority = Authority(MetadataImage("cluster"))
    authority.change(partial(changes.register_broker, endpoint=BrokerEndpoint(1, "host", 9092)))
    return authority


def create(authority: Authority, *names: str) -> None:
    for name in names:
        authority.change(partial(changes.create_topic, new=NewTopic(name), rng=random.Random(name)))


def test_each_listener_hears_each_image_with_its_delta(authority: Authority) -> None:
    first, second = Heard(), Heard()
    authority.on_change(first)
    create(authority, "a")
    authority.on_change(second)
    create(authority, "b")
    assert (first.versions, first.created) == ([2, 3], ["a", "b"])
    assert (second.versions, second.created) == ([3], ["b"])
    assert [image.version for image in first.images] == [2, 3]
    assert first.images[1] is authority.image


def test_what_a_listener_changes_comes_after_the_change_that_it_hears(authority: Authority) -> None:
    before, after = Heard(), Heard()
    changing = Heard(lambda: create(authority, "b", "c"))
    for listener in (before, changing, after):
        authority.on_change(listener)
    create(authority, "a")
    for listener in (before, changing, after):
        assert (listener.versions, listener.created) == ([2, 3, 4], ["a", "b", "c"])
        assert [image.version for image in listener.images] == [2, 3, 4]
        # The image of a version has nothing of later ones, although they were made before it was published everywhere.
        assert [len(image.topics()) for image in listener.images] == [1, 2, 3]


def test_a_change_of_a_listener_is_made_at_once(authority: Authority) -> None:
    seen: list[bool] = []

    def create_another() -> None:
        create(authority, "b")
        seen.append(authority.image.topic("b") is not None)

    authority.on_change(Heard(create_another))
    create(authority, "a")
    assert seen == [True]


def test_listeners_come_and_go_while_others_are_told(authority: Authority) -> None:
    late, gone = Heard(), Heard()
    ends: list[Callable[[], None]] = []

    def come_and_go() -> None:
        create(authority, "b")
        authority.on_change(late)
        ends[0]()

    authority.on_change(Heard(come_and_go))
    ends.append(authority.on_change(gone))
    create(authority, "a")
    create(authority, "c")
    assert gone.versions == []
    assert late.created == ["c"]  # `b` was there already when it came


def test_no_listener_is_called_while_an_image_is_made(authority: Authority) -> None:
    heard = Heard()
    authority.on_change(heard)

    def edit(draft: MetadataEdit) -> None:
        changes.create_topic(draft, NewTopic("a"), random.Random(1))
        changes.create_topic(draft, NewTopic("b"), random.Random(2))
        assert heard.versions == []
        assert authority.image.version == 1

    authority.change(edit)
    assert (heard.versions, heard.created) == ([2], ["a", "b"])


def test_an_edit_that_fails_changes_nothing(authority: Authority) -> None:
    create(authority, "a")
    heard, before = Heard(), authority.image
    authority.on_change(heard)
    with pytest.raises(TopicAlreadyExistsError):
        create(authority, "a")
    assert (authority.image, heard.versions) == (before, [])
    create(authority, "b")
    assert heard.versions == [3]


def test_an_edit_cannot_start_another_one(authority: Authority) -> None:
    with pytest.raises(RuntimeError, match="another"):
        authority.change(lambda _: create(authority, "a"))
    create(authority, "a")
    assert authority.image.topic("a") is not None


def test_a_listener_that_fails_keeps_nothing_from_the_others(authority: Authority) -> None:
    def fail() -> None:
        create(authority, "b")
        raise KeyError("first")

    after = Heard()
    authority.on_change(Heard(fail))
    authority.on_change(after)
    with pytest.raises(KeyError, match="first"):
        create(authority, "a")
    create(authority, "c")
    assert (after.versions, after.created) == ([2, 3, 4], ["a", "b", "c"])


def test_failures_of_several_listeners_are_raised_together(authority: Authority) -> None:
    def fail() -> None:
        raise ValueError

    authority.on_change(Heard(fail))
    authority.on_change(Heard(fail))
    with pytest.raises(ExceptionGroup) as raised:
        create(authority, "a")
    assert len(raised.value.exceptions) == 2
