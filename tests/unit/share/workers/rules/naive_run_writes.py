"""The writer of a naive world, as it treats the outputs of whole runs: each record has a fate of its own."""

import random
from collections.abc import Sequence

from attrs import define, field

from kafka_groups.errors import DeliveryFailedError, OperationTimeoutError
from kafka_groups.share.workers.rules.steps import WriteOutputs, WriteRecords
from tests.unit.share.workers.rules.jobs import Job

__all__ = ["NO_ANSWER", "TOO_LARGE", "NaiveRunWrites"]

NO_ANSWER = OperationTimeoutError("no answer")
TOO_LARGE = DeliveryFailedError("too large", failed=1, unanswered=0)
CONFIRMED = 0.4


@define
class NaiveRunWrites:
    """Outputs of runs that are being written together.

    Attributes:
        rng: Chooses everything.
        under_way: The writes.
        fates: What has become of single records since their writes were opened; None: they are confirmed.
    """

    rng: random.Random
    under_way: list[WriteOutputs[Job]] = field(factory=list)
    fates: dict[WriteRecords[Job], Exception | None] = field(factory=dict)
    _refused: dict[WriteOutputs[Job], tuple[Job, Exception]] = field(factory=dict)

    def begin(self, write: WriteOutputs[Job]) -> None:
        """Take a write."""
        assert len(write.in_hand) == len(write.outputs)
        assert all(job.is_in_hand and job.is_writing for job in write.in_hand), f"outputs of {write.in_hand}"
        self.under_way.append(write)

    def refuse_one(self, write: WriteOutputs[Job]) -> Exception:
        """Refuse the output of one record. Returns the error."""
        job, error = self.rng.choice(write.in_hand), self.rng.choice((NO_ANSWER, TOO_LARGE))
        self._refused[write] = job, error
        return error

    def open(self, write: WriteOutputs[Job], singles: Sequence[WriteRecords[Job]]) -> None:
        """Tell an outcome for each record from now on. Some have theirs already."""
        self.under_way.remove(write)
        assert [single.opened.record for single in singles] == list(write.in_hand), "not all go on by themselves"
        refused, error = self._refused.pop(write, (None, None))
        for single in singles:
            if single.opened.record is refused:
                self.fates[single] = error
            elif self.rng.random() < CONFIRMED:
                self.fates[single] = None

    def outcome_of(self, write: WriteRecords[Job], *, works: bool) -> Exception | None:
        """Return the outcome of a single write."""
        if write in self.fates:
            return self.fates.pop(write)
        return None if works else self.rng.choice((NO_ANSWER, NO_ANSWER, TOO_LARGE))
