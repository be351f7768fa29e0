"""Every field that the comparison leaves out, and every difference that it allows, each with its reason."""

import re
from collections.abc import Callable, Iterable, Sequence

from attrs import frozen

from tests.lockstep.answers import Fields
from tests.lockstep.steps import AddPartitions, CreateTopic, DeleteGroup, DeleteRecords, DeleteTopic, Fetch, Step

_RELEASE = 2
MISSING = "(no such field)"


@frozen
class Ignored:
    """A field that is not compared: a pattern for its whole path, and why."""

    path: str
    reason: str


@frozen
class Difference:
    """One field that differs."""

    path: str
    real: object
    embedded: object

    def __str__(self) -> str:
        return f"{self.path}: real {self.real!r}, embedded {self.embedded!r}"


def _always(_steps: Sequence[Step]) -> bool:
    return True


@frozen(kw_only=True)
class Allowed:
    """A difference that is known and stays for now.

    Attributes:
        name: Its name in the list of differences.
        path: A pattern for the whole path.
        real: What the real Kafka says; None is anything.
        embedded: What the embedded broker says; None is anything.
        when: Whether it may come after these steps, the last of which made the difference.
        parts_ways: Afterwards the two clusters are in different states, so the run ends there.
        reason: Why it is allowed.
    """

    name: str
    path: str
    real: object = None
    embedded: object = None
    when: Callable[[Sequence[Step]], bool] = _always
    parts_ways: bool = False
    reason: str

    def covers(self, steps: Sequence[Step], difference: Difference) -> bool:
        """Whether this is such a difference."""
        return (
            re.fullmatch(self.path, difference.path) is not None
            and self.real in (None, difference.real)
            and self.embedded in (None, difference.embedded)
            and self.when(steps)
        )


IGNORED = (
    Ignored(r".*\.throttle_time_ms", "the embedded broker has no quotas"),
    Ignored(r".*\.error_message|.*\.acknowledge_error_message", "the words differ, the codes may not"),
    Ignored(r".*\.node_endpoints.*", "hosts and ports differ; hints are compared by the conformance tests"),
    Ignored(r".*\.current_leader\..*", "ids of nodes differ between the clusters"),
    Ignored(r".*\.log_append_time_ms", "the clocks of the two brokers"),
    Ignored(r"CreateTopicsResponse\..*\.configs.*", "the embedded broker has fewer configs of topics"),
    Ignored(r".*\.client_host", "the address of a connection in memory"),
    Ignored(r".*\.leader_epoch", "a real Kafka counts the leader of a new topic from 0, and so on after a restart"),
    Ignored(
        r"ShareGroupDescribeResponse\..*\.assignment\..*",
        "which partitions a member gets follows from hashes of ids of topics, which differ: see settling.py",
    ),
    Ignored(
        r"ShareGroupHeartbeatResponse\.(member_epoch|assignment.*)",
        "a real Kafka computes assignments in the background: compared once both groups are settled",
    ),
)


def _releases(steps: Sequence[Step]) -> bool:
    last = steps[-1]
    return isinstance(last, Fetch) and any(_RELEASE in each.types for each in last.acknowledgements)


def _deleted_records(steps: Sequence[Step]) -> bool:
    return any(isinstance(step, DeleteRecords) for step in steps)


def _deleted_group(steps: Sequence[Step]) -> bool:
    return any(isinstance(step, DeleteGroup) for step in steps)


def _grown(steps: Sequence[Step]) -> bool:
    return any(isinstance(step, AddPartitions | CreateTopic) for step in steps)


def _created_again(steps: Sequence[Step]) -> bool:
    return {DeleteTopic, CreateTopic} <= {type(step) for step in steps}


ALLOWED = (
    Allowed(
        name="own releases",
        path=r"ShareFetchResponse\.responses.*",
        when=_releases,
        parts_ways=True,
        reason="whether a fetch gets what it releases itself is a race in Kafka; here it does only after a wait",
    ),
    Allowed(
        name="records deleted within a batch",
        path=r"(ShareFetchResponse\.responses|DescribeShareGroupOffsetsResponse)\..*|ShareFetchResponse\.responses\[.*",
        when=_deleted_records,
        parts_ways=True,
        reason="a real Kafka may acquire deleted records of a batch that the log still has, and keeps its start offset "
        "below that of the log for a while",
    ),
    Allowed(
        name="topic created again under a session",
        path=r"Share(Fetch|Acknowledge)Response\.responses.*",
        when=_created_again,
        parts_ways=True,
        reason="Kafka looks partitions up by name, so it says no more that the topic in the session is gone",
    ),
    Allowed(
        name="group deleted under a session",
        path=r"Share(Fetch|Acknowledge)Response\.responses.*",
        when=_deleted_group,
        parts_ways=True,
        reason="Kafka notices a while later that the state is gone, and calls it UNKNOWN_SERVER_ERROR",
    ),
    Allowed(
        name="loading of a new partition",
        path=r"ShareFetchResponse\.responses.*",
        real=MISSING,
        when=_grown,
        parts_ways=True,
        reason="Kafka loads share-partitions in the background, and leaves them out of a first response without a wait",
    ),
    Allowed(
        name="loading of a new partition",
        path=r"ShareFetchResponse\.responses.*\.length",
        when=_grown,
        parts_ways=True,
        reason="the same: fewer partitions in the response",
    ),
    Allowed(
        name="largest timestamp among deleted records",
        path=r"ListOffsetsResponse\..*",
        when=_deleted_records,
        reason="a real Kafka finds the largest timestamp in its segments, which may still have deleted records",
    ),
)

_IGNORED = re.compile("|".join(f"(?:{each.path})" for each in IGNORED))


def differences(real: Fields, embedded: Fields) -> list[Difference]:
    """The fields that differ, but for the ignored ones."""
    paths = dict.fromkeys((*real, *embedded))
    found = (Difference(path, real.get(path, MISSING), embedded.get(path, MISSING)) for path in paths)
    return [each for each in found if each.real != each.embedded and not _IGNORED.fullmatch(each.path)]


def allowance(
    steps: Sequence[Step], found: Iterable[Difference], allowed: tuple[Allowed, ...] = ALLOWED
) -> list[Allowed] | None:
    """The entries that allow what differs after these steps, or None if something is not allowed."""
    entries = [next((each for each in allowed if each.covers(steps, one)), None) for one in found]
    return [each for each in entries if each] if all(entries) else None
