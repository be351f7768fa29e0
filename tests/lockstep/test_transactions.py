"""Random requests of transactional producers to the embedded broker and a real Kafka, compared answer by answer.

A failure shows the shortest run that was found; `python -m tests.lockstep transactions SEED` repeats it.
"""

from typing import Any

import pytest

from kafka_groups.broker.coordinators.groups.offsets.shard_offsets import ShardOffsets
from kafka_groups.broker.coordinators.transactions import ending
from kafka_groups.broker.log.log_transactions import LogTransactions
from kafka_groups.broker.log.producers import ProducerStates
from tests.lockstep.pair import Pair
from tests.lockstep.planting import check_found_and_shrunk
from tests.lockstep.reporting import report
from tests.lockstep.shrinking import shrunk
from tests.lockstep.transaction_choosing import TransactionChoice
from tests.support.planted_defects import Patch, by_name

pytestmark = pytest.mark.lockstep


async def test_both_answer_alike(lockstep_seed: int, pair: Pair) -> None:
    outcome = await pair.run_transactions(TransactionChoice(lockstep_seed))
    assert outcome.is_same, report(await shrunk(outcome, pair.run_transactions))


def offsets_are_visible_before_the_marker(patch: Patch) -> None:
    """Offsets of a transaction count at once."""
    replay = ShardOffsets.replay
    patch.setattr(ShardOffsets, "replay", lambda self, record, offset, _producer=None: replay(self, record, offset))


def old_epochs_are_accepted(patch: Patch) -> None:
    """Leaders do not look at epochs."""
    patch.setattr(ProducerStates, "_check_not_older", lambda _self, _producer: None)


def aborted_transactions_are_forgotten(patch: Patch) -> None:
    """A marker of an abort is like one of a commit."""
    ended = LogTransactions.ended

    def committed_always(
        self: LogTransactions, producer_id: int, offset: int, high_watermark: int, *, committed: bool
    ) -> None:
        ended(self, producer_id, offset, high_watermark, committed=True)

    patch.setattr(LogTransactions, "ended", committed_always)


def repeated_ends_are_refused(patch: Patch) -> None:
    """EndTxn is never taken for a repetition."""
    is_repeated = ending.is_repeated

    def refused(known: Any, request: Any) -> bool:
        if is_repeated(known, request):
            raise ending._not_possible(known, request)
        return False

    patch.setattr("kafka_groups.broker.coordinators.transactions.shard.is_repeated", refused)


PLANTED = by_name(
    offsets_are_visible_before_the_marker,
    old_epochs_are_accepted,
    aborted_transactions_are_forgotten,
    repeated_ends_are_refused,
)


@pytest.mark.long
@pytest.mark.parametrize("name", PLANTED)
async def test_a_planted_difference_is_found_and_shrunk(name: str, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED[name](monkeypatch)
    await check_found_and_shrunk(pair.run_transactions, TransactionChoice, monkeypatch)
