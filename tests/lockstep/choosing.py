"""Random steps by the seed, chosen with the answers in mind, so that most of them do something."""

import random
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from kafka_groups.protocol.error_codes import ErrorCode
from tests.lockstep.running import Source
from tests.lockstep.side import Side
from tests.lockstep.steps import (
    CLOSE,
    LEAVE,
    Acknowledge,
    Acknowledged,
    AddPartitions,
    AlterGroupConfig,
    CreateTopic,
    DeleteGroup,
    DeleteRecords,
    DeleteTopic,
    DescribeGroup,
    DescribeGroupConfigs,
    DescribeOffsets,
    Fetch,
    Heartbeat,
    ListOffsets,
    Place,
    Produce,
    Step,
)
from tests.support.members.raw_member import Limits

MEMBERS = ("m0", "m1", "m2")
TOPICS: Mapping[str, int] = MappingProxyType({"t": 1, "u": 2})
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
_STEPS = 40
_FARTHEST = 30
_OF_OTHERS = 0.4

_GROUP_CONFIGS: Mapping[str, tuple[str | None, ...]] = MappingProxyType({
    "share.delivery.count.limit": ("2", "3", "6", "10", "11", None),
    "share.partition.max.record.locks": ("100", "150", "99", None),
    "share.record.lock.duration.ms": ("20000", "60000", "999", None),
    "share.renew.acknowledge.enable": ("true", "false", "maybe", None),
    "share.isolation.level": ("read_committed", "read_uncommitted", "dirty"),
    "share.heartbeat.interval.ms": ("600", "1", "x"),
    "share.auto.offset.reset": ("latest", "by_duration:PT1H", "earliest", "by_duration:1h"),
    "share.nonsense": ("1",),
})  # fmt: skip


class Choice(Source):
    """The steps of one seed."""

    def __init__(self, seed: int, steps: int = _STEPS) -> None:
        self._rng = random.Random(seed)
        self._left = steps
        self._names: dict[Any, str] = {}
        self._held: dict[str, dict[Place, list[tuple[int, int]]]] = {name: {} for name in MEMBERS}
        self._ends: dict[Place, int] = {(t, p): 0 for t, count in TOPICS.items() for p in range(count)}
        self._open: dict[str, tuple[Place, ...]] = dict.fromkeys(MEMBERS, ())

    def next(self, side: Side) -> Step | None:
        """A step of a kind that its weight makes likely."""
        self._names = {topic.topic_id: name for name, topic in side.topics.items()}
        self._left -= 1
        if self._left < 0:
            return None
        kinds: dict[Callable[[Side, str], Step], int] = {
            self._produce: 14,
            self._fetch: 34,
            self._acknowledge: 18,
            self._heartbeat: 8,
            self._odd_fetch: 5,
            self._odd_acknowledge: 5,
            self._question: 8,
            self._close: 3,
            self._delete_records: 2,
            self._config: 3,
            self._rare: 2,
        }
        kind = self._rng.choices(list(kinds), list(kinds.values()))[0]
        return kind(side, self._rng.choice(MEMBERS))

    def answered(self, step: Step, response: Any) -> None:
        """Remember who holds what."""
        if isinstance(step, Produce) and step.place in self._ends:
            self._ends[step.place] += step.count
        if isinstance(step, AddPartitions) and response.results[0].error_code is ErrorCode.NONE:
            self._ends |= {(step.topic, p): 0 for p in range(step.count) if (step.topic, p) not in self._ends}
        if isinstance(step, CreateTopic) and response.topics[0].error_code is ErrorCode.NONE:
            self._ends |= {(step.topic, p): 0 for p in range(step.partitions)}
        if isinstance(step, Fetch | Acknowledge) and response.error_code is ErrorCode.NONE:
            self._let_go(step, response)
            self._remember_session(step)
        if isinstance(step, Fetch):
            self._hold(step, response)

    # ------------------------------------------------------------------------------------------- what is held

    def _let_go(self, step: Fetch | Acknowledge, response: Any) -> None:
        held, settled = self._held[step.by], self._settled(response)
        for given in step.acknowledgements:
            if given.place in settled and RENEW not in given.types:
                held[given.place] = [left for run in held.get(given.place, ()) for left in _without(run, given)]

    def _remember_session(self, step: Fetch | Acknowledge) -> None:
        if isinstance(step, Fetch) and step.epoch != CLOSE:
            before = () if step.epoch == 0 else self._open[step.by]
            listed = (*before, *step.places, *(given.place for given in step.acknowledgements))
            self._open[step.by] = tuple(place for place in dict.fromkeys(listed) if place not in step.forgotten)

    def _settled(self, response: Any) -> set[Place]:
        """The places whose acknowledgements succeeded."""
        return {
            (self._names.get(topic.topic_id, "nothing"), partition.partition_index)
            for topic in response.responses
            for partition in topic.partitions
            if getattr(partition, "acknowledge_error_code", partition.error_code) is ErrorCode.NONE
        }

    def _hold(self, step: Fetch, response: Any) -> None:
        for topic in response.responses:
            for partition in topic.partitions:
                place = (self._names.get(topic.topic_id, "nothing"), partition.partition_index)
                for run in partition.acquired_records:
                    self._held[step.by].setdefault(place, []).append((run.first_offset, run.last_offset))

    # ------------------------------------------------------------------------------------------ ordinary steps

    def _produce(self, _side: Side, _member: str) -> Step:
        count = self._rng.choice((1, 1, 2, 3, 5, 8, 60))
        return Produce(place=self._place(), count=count)

    def _fetch(self, side: Side, member: str) -> Step:
        if side.member(member).session_epoch == 0:
            places = self._places()
            return Fetch(by=member, epoch=0, places=places, limits=self._limits(len(places)))
        return Fetch(
            by=member,
            acknowledgements=self._acknowledgements(member),
            limits=self._limits(len(self._open[member])),
            version=self._rng.choice((None, None, None, 1)),
        )

    def _acknowledge(self, _side: Side, member: str) -> Step:
        if self._rng.random() < 0.2:
            return Acknowledge(
                by=member, acknowledgements=self._acknowledgements(member, (RENEW, ACCEPT)), is_renew=True
            )
        return Acknowledge(by=member, acknowledgements=self._acknowledgements(member))

    def _close(self, _side: Side, member: str) -> Step:
        # All that is held is acknowledged: Kafka releases the rest after the answer, which nothing could wait for.
        held = sorted((place, run) for place, runs in self._held[member].items() for run in runs)
        types = (self._rng.choice((ACCEPT, RELEASE, REJECT)),)
        given = tuple(Acknowledged(place, *run, types) for place, run in held)
        close = self._rng.choice((Acknowledge, Fetch))
        return close(by=member, epoch=CLOSE, acknowledgements=given)

    def _heartbeat(self, _side: Side, member: str) -> Step:
        topics = self._rng.choice((None, ("t",), ("u",), ("t", "u"), ("t", "nothing")))
        epoch, shift = self._rng.choices(
            ((None, 0), (0, 0), (LEAVE, 0), (None, 1), (None, -1), (-3, 0)), (4, 6, 2, 1, 1, 1)
        )[0]
        if epoch == 0 and self._rng.random() < 0.9:
            topics = topics or ("t", "u")
        rack = self._rng.choice((None, None, None, None, "rack", ""))
        return Heartbeat(by=member, epoch=epoch, shift=shift, topics=topics, rack=rack)

    def _question(self, _side: Side, _member: str) -> Step:
        timestamp = self._rng.choice((-1, -2, -3, 0, 1_700_000_000_003))
        return self._rng.choice((
            DescribeGroup(),
            DescribeOffsets(),
            DescribeGroupConfigs(names=(*_GROUP_CONFIGS, "share.session.timeout.ms")),
            ListOffsets(place=self._place(), timestamp=timestamp),
        ))  # fmt: skip

    def _delete_records(self, _side: Side, _member: str) -> Step:
        place = self._place()
        return DeleteRecords(place=place, offset=self._rng.randint(-1, self._ends.get(place, 0) + 1))

    def _config(self, _side: Side, _member: str) -> Step:
        name = self._rng.choice(list(_GROUP_CONFIGS))
        return AlterGroupConfig(name=name, value=self._rng.choice(_GROUP_CONFIGS[name]))

    # ------------------------------------------------------------------------------------------------ odd ones

    def _odd_fetch(self, side: Side, member: str) -> Step:
        rng = self._rng
        return rng.choice((
            lambda: Fetch(by=member, epoch=0, acknowledgements=self._acknowledgements(member), places=self._places()),
            lambda: Fetch(by=member, shift=rng.choice((-1, 1, 5))),
            lambda: Fetch(by=member, forgotten=self._places()),
            lambda: Fetch(by=member, places=self._places()),
            lambda: Fetch(by=member, acknowledgements=self._odd_acknowledgements(member)),
            lambda: Fetch(by=member, acknowledgements=self._acknowledgements(member, (RENEW,)), is_renew=True,
                          limits=Limits(max_wait_ms=0, min_bytes=0, max_bytes=0, max_records=0, batch_size=0)),
            lambda: Fetch(by=member, acknowledgements=self._acknowledgements(member, (RENEW,)), is_renew=True),
            lambda: Fetch(by=member, places=(("t", 7),)),
            lambda: Fetch(by=member, places=(("nothing", 0),)),
        ))()  # fmt: skip

    def _odd_acknowledge(self, _side: Side, member: str) -> Step:
        return self._rng.choice((
            lambda: Acknowledge(by=member, epoch=0),
            lambda: Acknowledge(by=member, shift=self._rng.choice((-1, 1))),
            lambda: Acknowledge(by=member, acknowledgements=self._odd_acknowledgements(member)),
            lambda: Acknowledge(by=member, acknowledgements=self._odd_acknowledgements(member), version=1),
            lambda: Acknowledge(by=member, acknowledgements=self._acknowledgements(member, (RENEW,)), version=1),
        ))()  # fmt: skip

    def _rare(self, _side: Side, _member: str) -> Step:
        return self._rng.choice((
            AddPartitions(topic="u", count=self._rng.randint(1, 4)),
            AddPartitions(topic="nothing", count=2),
            DeleteTopic(topic="u"),
            DeleteTopic(topic="nothing"),
            CreateTopic(topic="u", partitions=2),
            CreateTopic(topic="u", partitions=0),
            DeleteGroup(),
            DeleteGroup(group="nothing"),
            DescribeGroup(group="nothing"),
            DescribeOffsets(group="nothing"),
            Heartbeat(by="m0", epoch=1, group="nothing"),
        ))  # fmt: skip

    # ------------------------------------------------------------------------------------------------- details

    def _place(self) -> Place:
        return ("t", 0) if self._rng.random() < 0.7 else self._rng.choice(list(self._ends))

    def _places(self) -> tuple[Place, ...]:
        return self._rng.choices(((("t", 0),), (("u", 1),), tuple(self._ends)), (6, 1, 3))[0]

    def _limits(self, partitions: int) -> Limits:
        if partitions > 1:
            return Limits(max_wait_ms=0)  # in which order partitions are read depends on the hashes of their ids
        most = self._rng.choice((1, 2, 3, 5, 10, 500))
        return Limits(
            max_wait_ms=0,
            max_bytes=self._rng.choice((50_000_000, 50_000_000, 50_000_000, 300)),
            max_records=most,
            batch_size=self._rng.choice((most, most, 2)),
            record_limit=self._rng.random() < 0.4,
        )

    def _acknowledgements(
        self, member: str, types: tuple[int, ...] = (ACCEPT, ACCEPT, RELEASE, RELEASE, REJECT)
    ) -> tuple[Acknowledged, ...]:
        held = [(place, run) for place, runs in self._held[member].items() for run in runs]
        chosen = self._rng.sample(held, min(len(held), self._rng.choice((0, 1, 1, 2, 3))))
        return tuple(self._within(place, run, types) for place, run in sorted(chosen))

    def _within(self, place: Place, run: tuple[int, int], types: tuple[int, ...]) -> Acknowledged:
        first = self._rng.choice((run[0], self._rng.randint(*run)))
        last = self._rng.choice((run[1], self._rng.randint(first, run[1])))
        if self._rng.random() < 0.5:
            return Acknowledged(place, first, last, (self._rng.choice(types),))
        return Acknowledged(place, first, last, tuple(self._rng.choice((*types, 0)) for _ in range(first, last + 1)))

    def _odd_acknowledgements(self, member: str) -> tuple[Acknowledged, ...]:
        if self._rng.random() < _OF_OTHERS:
            return self._acknowledgements(self._rng.choice([other for other in MEMBERS if other != member]))
        place = self._place()
        end = min(self._ends.get(place, 0), _FARTHEST) + 2
        first, last = self._rng.randint(0, end), self._rng.randint(0, end)
        types = self._rng.choice(((1,), (2,), (), (1, 2), (5,), (-1,), (4,)))
        return (*self._acknowledgements(member)[:1], Acknowledged(place, min(first, last + 1), last, types))


def _without(run: tuple[int, int], given: Acknowledged) -> list[tuple[int, int]]:
    before, after = (run[0], min(run[1], given.first - 1)), (max(run[0], given.last + 1), run[1])
    return [part for part in dict.fromkeys((before, after)) if part[0] <= part[1]]
