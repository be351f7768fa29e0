"""The slots of a handler, shared by its own topics and its retry topics."""

import random

import pytest
from attrs import define

from kafka_groups.share.workers.rules.slot_sharing import SharedSlots


@define(eq=False)
class User:
    """Has so many records, each of which needs a slot."""

    name: str
    records: int = 0
    running: int = 0
    woken: int = 0
    is_probing: bool = False

    def runnable(self, now_ms: int) -> int:
        """Return how many it could start."""
        return self.records

    def wake(self) -> None:
        """Note that it was woken."""
        self.woken += 1


class Scene:
    """Users that start what they can."""

    def __init__(self, concurrency: int, **users: int) -> None:
        self.concurrency = concurrency
        self.slots = SharedSlots(concurrency)
        self.users = {name: User(name, records) for name, records in users.items()}
        for name, user in self.users.items():
            self.slots.enter(user, is_retry=name != "main")
            self.slots.wake_by(user, user.wake)

    def start(self, name: str) -> bool:
        """Start a run if the user may."""
        user = self.users[name]
        if not (user.records and self.slots.may_start(user, self.concurrency, 0)):
            return False
        if name != "main" and self.users["main"].records:
            assert self.retries < max(1, self.concurrency // 2), "more than half of the slots"
        self.slots.started(user)
        user.records -= 1
        user.running += 1
        return True

    @property
    def retries(self) -> int:
        """The runs of records from retry topics."""
        return sum(user.running for name, user in self.users.items() if name != "main")

    def fill(self, *names: str) -> dict[str, int]:
        """Let users start all that they may, in this order. Returns how many runs each has."""
        for name in names:
            while self.start(name):
                pass
        return {name: user.running for name, user in self.users.items()}

    def end(self, name: str) -> None:
        """End a run of a user."""
        self.users[name].running -= 1
        self.slots.tell(self.users[name], 0)


@pytest.mark.parametrize("order", [("main", "retry"), ("retry", "main")])
def test_both_kinds_get_half_of_the_slots_while_both_have_records(order: tuple[str, str]) -> None:
    assert Scene(8, main=100, retry=100).fill(*order) == {"main": 4, "retry": 4}


def test_one_kind_gets_all_slots_if_the_other_has_nothing() -> None:
    assert Scene(8, main=0, retry=100).fill("main", "retry") == {"main": 0, "retry": 8}
    assert Scene(8, main=100, retry=0).fill("retry", "main") == {"main": 8, "retry": 0}


def test_new_records_leave_slots_to_those_that_are_due_and_no_more() -> None:
    assert Scene(8, main=100, retry=1).fill("main", "retry") == {"main": 7, "retry": 1}


def test_an_odd_slot_is_for_new_records() -> None:
    assert Scene(5, main=100, retry=100).fill("retry", "main") == {"main": 3, "retry": 2}


def test_a_single_slot_is_used_in_turns() -> None:
    scene = Scene(1, main=50, retry=50)
    begun: list[str] = []
    for _ in range(20):
        (name,) = [name for name in ("main", "retry") if scene.start(name)]
        begun.append(name)
        scene.end(name)
    assert begun in (["main", "retry"] * 10, ["retry", "main"] * 10)


def test_retry_topics_take_turns_among_each_other() -> None:
    """Else the topic whose run has just ended would take its slot again, for ever."""
    scene = Scene(1, main=0, short=50, long=50)
    assert scene.start("short")
    assert not scene.start("long")
    scene.end("short")
    assert not scene.start("short")
    assert scene.start("long")


def test_who_was_refused_is_woken_when_a_slot_is_free() -> None:
    scene = Scene(2, main=10, retry=10)
    scene.fill("main", "retry")
    for user in scene.users.values():
        scene.slots.tell(user, 0)
    for user in scene.users.values():
        user.woken = 0
    scene.end("retry")
    assert (scene.users["main"].woken, scene.users["retry"].woken) == (1, 0)
    scene.slots.tell(scene.users["retry"], 0)
    assert scene.users["main"].woken == 1  # nothing has changed


def test_who_has_ended_does_not_count() -> None:
    scene = Scene(2, main=10, retry=10)
    scene.fill("retry", "main")
    scene.slots.leave(scene.users["retry"])
    assert scene.users["main"].woken == 1
    assert scene.slots.may_start(scene.users["main"], 2, 0)


@pytest.mark.parametrize("seed", range(100))
def test_no_slot_stays_free_while_anybody_could_use_it(seed: int) -> None:
    rng = random.Random(seed)
    scene = Scene(rng.randint(1, 9), main=rng.randint(0, 20), short=rng.randint(0, 20), long=rng.randint(0, 20))
    names = list(scene.users)
    for _ in range(100):
        rng.shuffle(names)
        for _ in range(2):  # who is refused looks again after the others
            scene.fill(*names)
        running = sum(user.running for user in scene.users.values())
        waiting = sum(user.records for user in scene.users.values())
        assert running <= scene.concurrency
        assert running == scene.concurrency or not waiting
        for user in scene.users.values():
            for _ in range(rng.randint(0, user.running)):
                scene.end(user.name)
        if rng.random() < 0.3:
            scene.users[rng.choice(names)].records += rng.randint(0, 5)


def test_the_probe_of_one_user_is_that_of_all() -> None:
    slots, main, retry = SharedSlots(2), User("main"), User("retry")
    slots.enter(main, is_retry=False)
    slots.enter(retry, is_retry=True)
    assert not slots.is_probing
    retry.is_probing = True
    assert slots.is_probing
