"""Random runs of a writer with outcomes: writes, withdrawals and faults in any order, and what its owner may expect."""

import random
import re
from collections import Counter
from collections.abc import Sequence
from itertools import count

from attrs import define, evolve

from kafka_groups.errors import ClusterAuthorizationFailedError, TopicAuthorizationFailedError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.records.confirmed.writes import RecordToWrite, WriteOutcome
from tests.support.producing.confirmed_world import ConfirmedWorld, NaiveTopic, Told
from tests.support.producing.partition_of_producers import POISON

__all__ = ["FAULTY", "HARMLESS", "ConfirmedRun", "confirmed_run_of"]

_TOPICS = {"a": 1, "b": 2, "c": 3}
_NODES = 2
_FAULTS = (
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.POLICY_VIOLATION,
    ErrorCode.UNKNOWN_SERVER_ERROR,
)
_OUTAGES = (TopicAuthorizationFailedError, ClusterAuthorizationFailedError)
_ROUNDS = 200
"""The most rounds of 50 ms until all that is well has an outcome."""

HARMLESS = ("write", "write", "write_each", "divide", "withdraw", "pass_time", "go_on", "look")
FAULTY = ("disconnect", "move", "fail", "slow", "delete", "deny", "deny_ids", "configure", "forget", "heal")


@define(eq=False)
class Write:
    """A write of the model.

    Attributes:
        number: Its number.
        records: Its records.
        is_withdrawn: Whether it was withdrawn.
        parts: The writes that have taken its place.
        is_each: Whether its records have outcomes of their own once one of them is refused.
    """

    number: int
    records: Sequence[RecordToWrite]
    is_withdrawn: bool = False
    parts: "Sequence[Write]" = ()
    is_each: bool = False

    @property
    def topics(self) -> set[str]:
        """The topics of its records."""
        return {each.topic for each in self.records}


class ConfirmedRun:
    """A world with two owners, and what may happen to it.

    Args:
        rng: Chooses everything.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.world = ConfirmedWorld(_TOPICS, _NODES, rng, rng.choice([100, 250, 10_000]))
        self._numbers = count()
        self._told = [Told(), Told()]
        self._rooms = [self.world.room(told) for told in self._told]
        self._writes: list[dict[int, Write]] = [{}, {}]
        self._seen: list[set[object]] = [set(), set()]

    # ---------------------------------------------------------------------------------- without faults

    def write(self) -> None:
        """Write a few times, to one topic or to several."""
        owner = self.rng.randrange(2)
        for _ in range(self.rng.randrange(1, 6)):
            number = next(self._numbers)
            write = Write(number, [self._record(number, index) for index in range(self.rng.choice([1, 1, 1, 2, 3]))])
            self._writes[owner][number] = write
            self._rooms[owner].write(write.records, write)
        self.world.tell()

    def write_each(self) -> None:
        """Write several records of a topic that have one outcome as long as all is well."""
        owner, topic = self.rng.randrange(2), self.rng.choice([*_TOPICS])
        number = next(self._numbers)
        records = [evolve(self._record(number, index), topic=topic) for index in range(self.rng.randrange(2, 6))]
        write = Write(number, records, is_each=True)
        self._writes[owner][number] = write
        self._rooms[owner].write_each(records, write)
        self.world.tell()

    def divide(self) -> None:
        """Divide a write, as its owner wants outcomes of single records."""
        owner = self.rng.randrange(2)
        whole = [write for write in self._open(owner) if write.is_each]
        if whole:
            self._divide(owner, self.rng.choice(whole))

    def _divide(self, owner: int, write: Write) -> None:
        at = self.rng.randrange(1, len(write.records))
        parts = [Write(next(self._numbers), records) for records in (write.records[:at], write.records[at:])]
        before = self._rooms[owner].unconfirmed
        if self._rooms[owner].divide(write, [(part, part.records) for part in parts]):
            write.parts, write.is_each = parts, False
            self._writes[owner].update({part.number: part for part in parts})
            assert self._rooms[owner].unconfirmed <= before
        self.world.tell()

    def _divide_refused(self, owner: int) -> None:
        """Do what an owner does when a record was refused: the outcome says nothing about the others."""
        outcomes = self._told[owner].outcomes
        for write in self._writes[owner].copy().values():
            if write.parts:
                outcomes.pop(write, None)  # the refusal has led to the division, or came after it
            elif write.is_each and write in outcomes and outcomes[write][0].error is not None:
                del outcomes[write]
                self._divide(owner, write)
                assert write.parts

    def _record(self, number: int, index: int) -> RecordToWrite:
        value = b"%d.%d" % (number, index)
        if self.rng.random() < 0.05:
            value = POISON + value
        key = self.rng.choice([None, b"k", b"%d" % number])
        return RecordToWrite(self.rng.choice([*_TOPICS]), key, value)

    def withdraw(self) -> None:
        owner = self.rng.randrange(2)
        open_writes = self._open(owner)
        for write in self.rng.sample(open_writes, min(len(open_writes), 3)):
            before = self._rooms[owner].unconfirmed
            write.is_withdrawn = self._rooms[owner].withdraw(write)
            assert before - self._rooms[owner].unconfirmed == (len(write.records) if write.is_withdrawn else 0)

    def pass_time(self) -> None:
        self.world.pass_time(self.rng.choice([1, 5, 100, 1_000, 6_000]))

    def go_on(self) -> None:
        """Let some connections make progress."""
        for at in self.world.connections():
            for _ in range(self.rng.randrange(3)):
                self.world.handle(at)
            if self.rng.random() < 0.7:
                self.world.deliver(at)
        self.world.tell()

    def look(self) -> None:
        """Whatever is wrong with some topics, writes to the others get their outcomes."""
        if self.world.denies_ids:
            return
        for _ in self.world.rounds(_ROUNDS):
            well = {name for name, topic in self.world.topics.items() if topic.is_well}
            late = [each.number for owner in range(2) for each in self._open(owner) if each.topics <= well]
            if not late:
                return
        raise AssertionError(f"no outcome although nothing is wrong with the topics: {late}")

    def _open(self, owner: int) -> list[Write]:
        self._divide_refused(owner)
        outcomes = self._told[owner].outcomes
        writes = self._writes[owner].values()
        return [each for each in writes if not (each.is_withdrawn or each.parts or each in outcomes)]

    # ------------------------------------------------------------------------------------- with faults

    def disconnect(self) -> None:
        connections = self.world.connections()
        if connections:
            at = self.rng.choice(connections)
            if self.rng.random() < 0.5:
                self.world.handle(at)
            self.world.disconnect(at)

    def move(self) -> None:
        topic = self._topic()
        topic.leaders[self.rng.randrange(len(topic.leaders))] = self.rng.randrange(_NODES)

    def fail(self) -> None:
        self._topic().faults.extend(self.rng.choices(_FAULTS, k=self.rng.randrange(1, 4)))

    def slow(self) -> None:
        self._topic().is_slow = True

    def delete(self) -> None:
        self.world.delete(self.rng.choice([*_TOPICS]))

    def deny(self) -> None:
        self._topic().is_denied = True

    def deny_ids(self) -> None:
        self.world.denies_ids = True

    def configure(self) -> None:
        log = self.rng.choice(self._topic().logs)
        log.max_bytes = self.rng.choice([78, 90, 150, 10_000, 10_000])
        log.names_records = self.rng.random() < 0.7

    def forget(self) -> None:
        self.rng.choice(self._topic().logs).forget()

    def heal(self) -> None:
        self.world.heal()

    def _topic(self) -> NaiveTopic:
        return self.world.topics[self.rng.choice([*_TOPICS])]

    # --------------------------------------------------------------------------------------------- end

    def act(self, name: str) -> None:
        """Do one thing, and look whether the rules hold all the time."""
        getattr(self, name)()
        for owner, told in enumerate(self._told):
            self._divide_refused(owner)
            for token in [each for each in told.outcomes if each not in self._seen[owner]]:
                self._seen[owner].add(token)
                self._check_outcome(owner, token)

    def _check_outcome(self, owner: int, token: object) -> None:
        outcomes = self._told[owner].outcomes[token]
        assert isinstance(token, Write)
        assert self._writes[owner].get(token.number) is token, "an outcome for another owner"
        assert not token.is_withdrawn, "an outcome for a write that was withdrawn"
        assert len(outcomes) == 1
        assert not isinstance(outcomes[0].error, _OUTAGES), "a missing right is not waited for"
        if outcomes[0].error is None:
            for each in token.records:
                replicated = self.world.topics[each.topic].replicated
                assert each.value in replicated, f"{each} is confirmed before all replicas have it"

    def end(self) -> None:
        """Let everything end well, and look at the logs."""
        self.world.heal()
        for _ in self.world.rounds(_ROUNDS * 2):
            if not any(self._open(owner) for owner in range(2)) and not self.world.manager.pending:
                break
        for _ in self.world.rounds(15):  # holds are over
            pass
        for owner, room in enumerate(self._rooms):
            assert not self._open(owner), f"lost outcomes: {[each.number for each in self._open(owner)]}"
            assert (room.unconfirmed, room.has_room) == (0, True)
            self._check_owner(owner)
        assert (self.world.manager.pending, self.world.manager.held_bytes) == (0, 0)
        assert self.world.errors.fatal is None

    def _check_owner(self, owner: int) -> None:
        told = self._told[owner]
        for errors in told.holds.values():
            assert errors[-1] is None, "a topic is held for ever"
            assert all((error is None) == bool(index % 2) for index, error in enumerate(errors)), "held twice"
        written = {name: topic.values() for name, topic in self.world.topics.items()}
        forgetful = {name for name, topic in self.world.topics.items() if any(log.has_forgotten for log in topic.logs)}
        forgetful |= {
            found[1]
            for text in self.world.warnings
            if (found := re.search(r"of (\w)-\d+ begin anew.* may be wr", text))
        }
        for write in self._writes[owner].values():
            outcomes = told.outcomes.get(write, [])
            if write.parts:
                continue
            assert len(outcomes) == (0 if write.is_withdrawn else 1), f"{len(outcomes)} outcomes of {write.number}"
            counts = [written[each.topic][each.value or b""] for each in write.records]
            self._check_written(write, outcomes, counts, forgetful)

    @staticmethod
    def _check_written(write: Write, outcomes: Sequence[WriteOutcome], counts: list[int], forgetful: set[str]) -> None:
        if write.is_withdrawn:
            assert not any(counts), f"{write.number} is written although it was withdrawn"
        elif outcomes[0].error is None:
            assert all(counts), f"{write.number} is confirmed and not written"
        elif not outcomes[0].may_be_written:
            assert not any(counts), f"{write.number} was refused, and is written"
        if not write.topics & forgetful:
            assert Counter(counts)[0] + Counter(counts)[1] == len(counts), f"{write.number} is written twice"


def confirmed_run_of(seed: int, steps: int = 60) -> None:
    """Run by a seed.

    Raises:
        AssertionError: The writer did something that its owner may not expect.
    """
    rng = random.Random(seed)
    run = ConfirmedRun(rng)
    faults = rng.sample(FAULTY, rng.choice([1, 2, 4, len(FAULTY)]))
    for _ in range(steps):
        run.act(rng.choice(HARMLESS) if rng.random() < 0.8 else rng.choice([*faults, "heal"]))
        if rng.random() < 0.02:
            run.end()
    run.end()
