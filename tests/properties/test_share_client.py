"""A share consumer's two halves, sans IO, against a strict broker on random schedules with faults."""

import itertools
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from attrs import define, field
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_groups.client.requests import OutgoingRequest
from kafka_groups.errors import DisconnectedError, KafkaGroupsError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.share_fetch import ShareFetchPartitionData
from kafka_groups.share.delivery.commits import CommitTicket
from kafka_groups.share.delivery.records import delivery_of
from kafka_groups.types import AcknowledgeType
from tests.unit.share.fetching import LOCK_MS, Bench, acknowledged_in, wire

RECORDS = 60
FINAL = {AcknowledgeType.ACCEPT, AcknowledgeType.REJECT, AcknowledgeType.GAP}


@define
class StrictBroker:
    """Leads one partition; keeps sessions and locks as Kafka does, and notes whatever a client must not do."""

    node_id: int
    log: "Log"
    epoch: int | None = None
    locks: dict[int, int] = field(factory=dict)
    complaints: list[str] = field(factory=list)

    def expire(self, now_ms: int) -> None:
        for offset in [offset for offset, until_ms in self.locks.items() if until_ms <= now_ms]:
            del self.locks[offset]

    def drop_session(self) -> None:
        self.epoch = None
        self.locks.clear()

    def enter(self, request: OutgoingRequest) -> ErrorCode:
        """What the session says to a request."""
        epoch, carries = wire(request).share_session_epoch, acknowledged_in(request)
        if epoch == 0:
            if carries or request.api is ApiKey.SHARE_ACKNOWLEDGE:
                self.complaints.append(f"epoch 0 with {carries}")
            self.drop_session()
            self.epoch = 1
        elif self.epoch is None:
            return ErrorCode.SHARE_SESSION_NOT_FOUND
        elif epoch == -1:
            self.epoch = None
        elif epoch != self.epoch:
            self.complaints.append(f"epoch {epoch}, expected {self.epoch}")
            return ErrorCode.INVALID_SHARE_SESSION_EPOCH
        else:
            self.epoch += 1
        return ErrorCode.NONE

    def acknowledge(self, request: OutgoingRequest, now_ms: int) -> ErrorCode:
        self._check_order(request)
        types = acknowledged_in(request).get(0, {})
        if any(offset not in self.locks for offset in types):
            return ErrorCode.INVALID_RECORD_STATE
        for offset, kind in types.items():
            if kind == AcknowledgeType.RENEW:
                if not wire(request).is_renew_ack:
                    self.complaints.append("RENEW without the flag")
                self.locks[offset] = now_ms + LOCK_MS
                continue
            del self.locks[offset]
            if kind in FINAL:
                self.log.ended[offset] = kind
        return ErrorCode.NONE

    def _check_order(self, request: OutgoingRequest) -> None:
        for topic in wire(request).topics:
            for partition in topic.partitions:
                for earlier, later in itertools.pairwise(partition.acknowledgement_batches):
                    if later.first_offset <= earlier.last_offset:
                        self.complaints.append(f"{earlier} before {later}")

    def acquire(self, most: int, now_ms: int) -> tuple[tuple[int, int], ...]:
        free = [offset for offset in range(RECORDS) if offset not in self.log.ended and offset not in self.locks]
        for offset in free[:most]:
            self.locks[offset] = now_ms + LOCK_MS
        return tuple((offset, offset) for offset in free[:most])


@define
class Log:
    """What became of the records for good."""

    ended: dict[int, int] = field(factory=dict)


class Run:
    """One random schedule.

    Attributes:
        is_calm: Whether nothing fails and the application accepts all, so that it is fetched ahead.
    """

    is_calm = False

    def __init__(self, seed: int, *, version: int, **config: Any) -> None:
        self.rng = random.Random(seed)
        self.version = version
        self.bench = Bench([1], default_api_timeout_ms=10_000, **config).warm()
        self.log = Log()
        self.brokers = {node: StrictBroker(node, self.log) for node in (1, 2)}
        self.leader, self.leader_epoch = 1, 1
        self.in_flight: list[OutgoingRequest] = []
        self.hand: list[Any] = []
        self.decided: Counter[int] = Counter()
        self.explicit = config.get("acknowledgement_mode") == "explicit"
        self.complaints: list[str] = []
        self.waited_for: list[CommitTicket] = []

    @property
    def troubles(self) -> list[Callable[[], None]]:
        return [self.pass_time, self.cut, self.move, self.fail, self.end_session]

    def step(self) -> None:
        actions: list[Callable[[], None]] = [self.turn] * 6 + [self.answer] * 6 + [self.poll] * 4 + [self.commit] * 2
        actions += [self.pass_time] if self.is_calm else self.troubles
        self.rng.choice(actions)()

    # -------------------------------------------------------------------------------- the engine's side

    def turn(self) -> None:
        for request in self.bench.turn():
            if any(other.node_id == request.node_id for other in self.in_flight):
                self.complaints.append(f"two requests under way to {request.node_id}")
            self.in_flight.append(request)
        self._look_for_delays()

    def _look_for_delays(self) -> None:
        """An acknowledgement that a caller waits for goes with the first request that the leader can take."""
        for leader in self.bench.manager._leaders.values():
            is_free = leader.exchange is None and not leader.backoff.remaining_ms(self.bench.now_ms)
            if is_free and any(pending.is_urgent for pending in leader.pending):
                self.complaints.append(f"{leader} keeps an acknowledgement that is waited for")

    def answer(self, code: ErrorCode = ErrorCode.NONE) -> None:
        if not self.in_flight:
            return
        request = self.in_flight.pop(self.rng.randrange(len(self.in_flight)))
        broker = self.brokers[request.node_id or 0]
        refused = broker.enter(request) or code
        if refused is not ErrorCode.NONE:
            self._respond(request, error_code=refused)
        elif broker.node_id != self.leader:
            broker.locks.clear()
            self._respond_partition(request, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        else:
            self._respond_partition(request, broker.acknowledge(request, self.bench.now_ms), broker)
        if wire(request).share_session_epoch == -1:
            broker.drop_session()

    def _respond(self, request: OutgoingRequest, **values: Any) -> None:
        if request.api is ApiKey.SHARE_FETCH:
            self.bench.fetched(request, version=self.version, **values)
        else:
            self.bench.acknowledged(request, version=self.version, **values)

    def _respond_partition(self, request: OutgoingRequest, code: ErrorCode, broker: StrictBroker | None = None) -> None:
        if request.api is not ApiKey.SHARE_FETCH:
            self.bench.acknowledged(request, code, version=self.version)
            return
        ranges = () if broker is None else broker.acquire(self.rng.randint(0, 9), self.bench.now_ms)
        if ranges and code is ErrorCode.NONE:
            self.bench.fetched(request, *ranges, version=self.version)
        elif ranges:
            for offset, _ in ranges:
                del broker.locks[offset]  # type: ignore[union-attr] # there are ranges, so there is a broker
        if not ranges or code is not ErrorCode.NONE:
            failed = code if broker is None else ErrorCode.NONE
            part = ShareFetchPartitionData(partition_index=0, error_code=failed, acknowledge_error_code=code)
            self.bench.fetched(request, parts=(part,), version=self.version)

    def fail(self) -> None:
        if self.rng.random() < 0.5:
            self.answer(ErrorCode.UNKNOWN_SERVER_ERROR)
        else:
            self.answer(ErrorCode.REQUEST_TIMED_OUT)

    def cut(self) -> None:
        if self.in_flight:
            request = self.in_flight.pop()
            self.brokers[request.node_id or 0].drop_session()
            self.bench.lose(request, DisconnectedError("cut"))

    def end_session(self) -> None:
        self.brokers[self.leader].drop_session()

    def move(self) -> None:
        self.brokers[self.leader].locks.clear()
        self.leader, self.leader_epoch = 3 - self.leader, self.leader_epoch + 1
        self.bench.learn_leaders([self.leader], self.leader_epoch)

    def pass_time(self) -> None:
        self.bench.advance(self.rng.choice([1, 10] if self.is_calm else [10, 100, 1_000, 5_000, LOCK_MS // 2]))
        for broker in self.brokers.values():
            broker.expire(self.bench.now_ms)

    # --------------------------------------------------------------------------- the application's side

    def poll(self) -> None:
        for record in self.hand:
            self.decide(record)
        self.hand = []
        try:
            records = self.bench.begin()
        except KafkaGroupsError:
            return
        for record in records:
            if delivery_of(record).lock_deadline_ms <= self.bench.now_ms:
                self.complaints.append(f"{record!r} is stale")
            self.hand.append(record)
            if not self.explicit:
                self.decided[record.offset] += 1

    def decide(self, record: Any) -> None:
        if self.explicit:
            kinds = [AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT]
            self.bench.application.acknowledge(record, kinds[0] if self.is_calm else self.rng.choice(kinds))
            self.decided[record.offset] += 1

    def commit(self) -> None:
        done, self.hand = [record for record in self.hand if self.rng.random() < 0.7], self.hand
        self.hand = [record for record in self.hand if record not in done] if self.explicit else []
        for record in done:
            self.decide(record)
        try:
            self.bench.application.commit(CommitTicket(is_urgent=self.rng.random() < 0.5))
        except KafkaGroupsError:
            return
        if self.rng.random() < 0.5:
            self.waited_for = self.bench.application.wait_for_commits()

    def finish(self) -> None:
        for record in self.hand:
            self.decide(record)
        self.bench.application.send_acknowledged(accepts_open=not self.explicit)
        self.bench.manager.close()
        for _ in range(40):
            self.turn()
            if self.bench.manager.is_closed:
                break
            self.answer()
        assert self.bench.manager.is_closed, self.bench.manager
        self.bench.manager.give_up()
        self.bench.application.run_callback()


CONFIGS = st.fixed_dictionaries({
    "acknowledgement_mode": st.sampled_from(["explicit", "implicit"]),
    "auto_renew": st.booleans(),
    "prefetch_batches": st.sampled_from([0, 1]),
}).filter(lambda config: config["acknowledgement_mode"] == "explicit" or not config["auto_renew"])  # fmt: skip


@settings(max_examples=2 * settings().max_examples)
@example(262, {"acknowledgement_mode": "explicit", "auto_renew": False, "prefetch_batches": 1}, 2)
@given(st.integers(0, 2**32), CONFIGS, st.sampled_from([1, 2]))
def test_random_schedules(seed: int, config: dict[str, Any], version: int) -> None:
    run = Run(seed, version=version, **config)
    for _ in range(120):
        run.step()
    run.finish()

    assert run.complaints == []
    assert all(ticket.is_done for ticket in run.waited_for)
    assert [complaint for broker in run.brokers.values() for complaint in broker.complaints] == []
    told = Counter(offset for result in run.bench.results for offset in result.offsets())
    assert told == run.decided
    taken = Counter(offset for result in run.bench.results if result.error is None for offset in result.offsets())
    assert all(taken[offset] for offset in run.log.ended)


class CalmRun(Run):
    is_calm = True


@settings(max_examples=2 * settings().max_examples)
@given(st.integers(0, 2**32), st.sampled_from(["explicit", "implicit"]))
def test_no_acknowledgement_that_is_waited_for_is_delayed(seed: int, mode: str) -> None:
    run = CalmRun(seed, version=2, acknowledgement_mode=mode)
    for _ in range(60):
        run.step()
    assert run.complaints == []
