"""The faults of a simulation: their kinds, their frequencies, and a count of those that occurred."""

import random
from collections import Counter
from typing import Self

import attrs
from attrs import field, frozen

__all__ = ["FAULT_NAMES", "USUAL_FAULT_NAMES", "FaultDraws", "SeededFaults"]

_SHORTEST_STALL_S = 0.1


def _weight(default: float = 1.0) -> float:
    weight: float = field(default=default, validator=attrs.validators.ge(0))
    return weight


@frozen(kw_only=True, repr=False)
class SeededFaults:
    """The faults of a simulation: the period in which they occur, and their frequency.

    Each fault has a weight. 1 is the usual frequency, 0 turns the fault off, and 3 makes it three times as frequent.
    `log_truncated` and `producers_forgotten` are off unless you give them a weight: the first loses records that were
    written, and after the second producers without transactions may write records twice.

    Attributes:
        seconds: The period in which faults occur, in virtual seconds from the start.
        stall_seconds: The longest time for which a process stands still, in virtual seconds. More than 30 outlasts the
            requests of a client, and more than 45 its sessions.
        delayed_frame: A frame arrives 1 ms to 3 s late.
        broken_connection: A connection breaks, and both sides notice.
        half_dead_connection: A connection carries nothing more in one direction, and neither side notices.
        refused_connection: An attempt to connect fails.
        lost_heartbeat_response: A broker handles a heartbeat, or another request of a group's member such as JoinGroup
            or OffsetCommit, and then breaks the connection.
        lost_producer_response: A broker handles a request of a producer, such as Produce or EndTxn, and then breaks the
            connection.
        repeated_heartbeat: A broker handles a heartbeat twice. In consumer and streams groups this strikes only those
            that contain everything, as a client's retry does.
        slow_broker: Each frame of a broker takes half a second longer, for up to 20 seconds.
        leader_moved: Another broker becomes the leader of a partition.
        coordinator_moved: The coordinator of a group, of its record states or of a transactional id moves to another
            broker.
        broker_restarted: A broker shuts down and is back within 10 seconds.
        broker_killed: A broker is killed and is back within 10 seconds. The others notice after up to 5 seconds.
        late_append: A coordinator's write takes up to 4 seconds.
        refused_append: A coordinator's write fails.
        slow_load: A coordinator that has moved takes up to 3 seconds for each step of loading its state.
        process_killed: A process of the application is killed and is started again within 5 seconds.
        process_stopped: A process of the application is stopped (its task is cancelled) and started again.
        process_stalled: A process of the application stands still for up to `stall_seconds`, then resumes.
        log_truncated: A broker becomes the leader of a partition although it lacks up to 20 of the last records, which
            are lost. Transaction markers, internal topics and topics of share groups are spared.
        producers_forgotten: The leaders of a topic forget the sequence numbers of producers, as after
            `producer.id.expiration.ms`. Those of open transactions are spared.
    """

    seconds: float = field(default=300.0, validator=attrs.validators.ge(0))
    stall_seconds: float = field(default=20.0, validator=attrs.validators.ge(_SHORTEST_STALL_S))
    delayed_frame: float = _weight()
    broken_connection: float = _weight()
    half_dead_connection: float = _weight()
    refused_connection: float = _weight()
    lost_heartbeat_response: float = _weight()
    lost_producer_response: float = _weight()
    repeated_heartbeat: float = _weight()
    slow_broker: float = _weight()
    leader_moved: float = _weight()
    coordinator_moved: float = _weight()
    broker_restarted: float = _weight()
    broker_killed: float = _weight()
    late_append: float = _weight()
    refused_append: float = _weight()
    slow_load: float = _weight()
    process_killed: float = _weight()
    process_stopped: float = _weight()
    process_stalled: float = _weight()
    log_truncated: float = _weight(0.0)
    producers_forgotten: float = _weight(0.0)

    def __repr__(self) -> str:
        usual = attrs.fields_dict(type(self))
        other = {name: getattr(self, name) for name, each in usual.items() if getattr(self, name) != each.default}
        return f"SeededFaults({', '.join(f'{name}={value:g}' for name, value in other.items())})"

    @classmethod
    def only(cls, *, seconds: float = 300.0, stall_seconds: float = 20.0, **weights: float) -> Self:
        """Return faults of which only the given ones strike.

        Args:
            seconds: The period in which faults occur, in virtual seconds.
            stall_seconds: The longest time for which a process stands still, in virtual seconds.
            **weights: The weights of the faults that strike. Without any, there are no faults.

        Raises:
            TypeError: There is no such fault.
        """
        chosen = {**dict.fromkeys(FAULT_NAMES, 0.0), **weights}
        return cls(seconds=seconds, stall_seconds=stall_seconds, **chosen)


FAULT_NAMES = tuple(name for name in attrs.fields_dict(SeededFaults) if name not in ("seconds", "stall_seconds"))
"""The faults that have a weight."""
USUAL_FAULT_NAMES = tuple(name for name in FAULT_NAMES if attrs.fields_dict(SeededFaults)[name].default)
"""The faults that strike unless they are turned off."""


class FaultDraws:
    """Draws whether faults strike, and counts those that do. None strikes after `stop`.

    Args:
        faults: The faults and their frequency.

    Attributes:
        counts: The number of times that each fault occurred, by its name.
        is_on: Whether faults strike at the moment.
    """

    def __init__(self, faults: SeededFaults) -> None:
        self._longest_stall_s = faults.stall_seconds
        self._weights = {name: float(getattr(faults, name)) for name in FAULT_NAMES}
        self.counts: Counter[str] = Counter()
        self.is_on = True

    def stop(self) -> None:
        """Let nothing strike from now on."""
        self.is_on = False

    def weight(self, name: str) -> float:
        """Return how often a fault strikes, compared with the usual; 1 for a fault that only the application knows."""
        return self._weights.get(name, 1.0) if self.is_on else 0.0

    def stall_s(self, rng: random.Random) -> float:
        """Draw for how many virtual seconds a process stands still."""
        return rng.uniform(_SHORTEST_STALL_S, self._longest_stall_s)

    def strikes(self, rng: random.Random, name: str, probability: float) -> bool:
        """Draw whether a fault of this usual probability strikes now, and count it if so."""
        strikes = self.is_on and rng.random() < probability * self.weight(name)
        self.counts[name] += strikes
        return strikes
