"""What the handlers of all processes did with each record, and what must not be among it."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from attrs import define, field

__all__ = ["AttemptJournal", "RetriedJob"]


@define(eq=False)
class RetriedJob:
    """A record: it fails after each of its attempts but the last one.

    Attributes:
        number: Counts the records.
        waits: The waits in seconds that its handler asks for, one after each failure.
        is_rejected: Whether the last attempt rejects it instead of succeeding.
    """

    number: int
    waits: Sequence[float]
    is_rejected: bool = False

    @property
    def value(self) -> bytes:
        """The value of its record."""
        return str(self.number).encode()


@define(eq=False)
class AttemptJournal:
    """The attempts of all records.

    Attributes:
        now_ms: Returns the time.
        violations: Receives what must not happen.
        jobs: All records, by number.
        began_ms: When the last attempt of a record began.
        raised_ms: When each attempt of a record has failed, by record and attempt.
        ended: How often each record has come to its end.
        may_repeat: How many records may have come to their end twice, as kills and other faults explain.
        late_ms: How late attempts began.
    """

    now_ms: Callable[[], int]
    violations: list[str]
    jobs: list[RetriedJob] = field(factory=list)
    began_ms: dict[int, int] = field(factory=dict)
    raised_ms: dict[tuple[int, int], list[int]] = field(factory=lambda: defaultdict(list))
    ended: Counter[int] = field(factory=Counter)
    may_repeat: int = 0
    late_ms: list[int] = field(factory=list)

    def began(self, job: RetriedJob, attempt: int) -> None:
        """Note the begin of an attempt."""
        self.began_ms[job.number] = self.now_ms()
        if attempt > len(job.waits) + 1:
            self.violations.append(f"record {job.number} has attempt {attempt}, and {len(job.waits)} failures")
        elif attempt > 1:
            self._check_time(job, attempt)

    def _check_time(self, job: RetriedJob, attempt: int) -> None:
        failed_ms = self.raised_ms[job.number, attempt - 1]
        if not failed_ms:
            self.violations.append(f"record {job.number} has attempt {attempt} before attempt {attempt - 1} has failed")
            return
        due_ms = min(failed_ms) + round(1000 * job.waits[attempt - 2])
        late_ms = self.now_ms() - due_ms
        if late_ms < 0:
            self.violations.append(f"attempt {attempt} of record {job.number} begins {-late_ms} ms before it is due")
        self.late_ms.append(late_ms)

    def failed(self, job: RetriedJob, attempt: int) -> None:
        """Note that an attempt has failed."""
        self.raised_ms[job.number, attempt].append(self.now_ms())

    def finished(self, job: RetriedJob) -> None:
        """Note that a record has succeeded, or was rejected."""
        self.ended[job.number] += 1

    def judge_repeats(self) -> None:
        """Judge how many records have come to their end more than once."""
        repeats = sum(self.ended.values()) - len(self.ended)
        if repeats > self.may_repeat:
            self.violations.append(f"{repeats} records were repeated, and {self.may_repeat} of them are explained")
