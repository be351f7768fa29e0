"""Logs of coordinators that lose what was not committed."""

import asyncio
import random

from kafka_groups.broker.log.leader_epochs import EpochEnd
from kafka_groups.protocol.coordinator_records.share_group_state import SHARE_GROUP_STATE
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.testing.simulation.faults.late_storage import LateLog, LateStorage
from kafka_groups.testing.simulation.faults.seeded_faults import FaultDraws, SeededFaults
from tests.unit.broker.log.test_internal_log import record


def test_lost_records_leave_no_leader_epoch() -> None:
    async def main(_simulation: Simulation) -> tuple[EpochEnd | None, EpochEnd | None]:
        storage = LateStorage(random.Random(1), FaultDraws(SeededFaults.only()))
        log = LateLog(SHARE_GROUP_STATE, storage)
        log.append_records([record(0)], 1, 0)
        await asyncio.sleep(10)
        log.append_records([record(1)], 2, 0)
        before = log.epochs.end_of(1, 2, log.end_offset)
        log.drop_uncommitted()
        return before, log.epochs.end_of(2, 3, log.end_offset)

    assert run_simulated(main, seed=1) == (EpochEnd(1, 1), EpochEnd(1, 1))
