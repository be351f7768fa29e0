"""A worker of one or several processes is struck while records flow."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.conditions import wait_until
from tests.support.workers.journal import Step, entries_in
from tests.support.workers.journaled_worker import SETTINGS_VARIABLE, JournaledSettings
from tests.support.workers.worker_brokers import WorkerBroker, wait_s
from tests.support.workers.worker_fleet import WorkerFleet
from tests.support.workers.worker_plans import BlowKind, StrikePlan, Theme
from tests.support.workers.worker_verdicts import WorkerRecords
from tests.support.workers.written_records import PARTITIONS, RecordFlow

__all__ = ["StruckWorker"]

PATIENCE_S = 120.0
BROKER_OUTAGE_S = 10.0
SESSION_MS, STALL_S = 3_000, 4.0
LOCK_MS = 6_000
PROGRESS = 20
"""So many more records are done before something strikes."""


class StruckWorker:
    """A run of a plan.

    Args:
        broker: A broker that may be killed.
        plan: The plan.
        directory: For the journal and the log.
    """

    def __init__(self, broker: WorkerBroker, plan: StrikePlan, directory: Path) -> None:
        self._broker = broker
        self._plan = plan
        self._journal, self._outage = directory / "journal", directory / "sink-is-down"
        self._journal.touch()
        self._topic, self._dead = broker.new_topic(PARTITIONS), broker.new_topic().name
        self._group_id = broker.new_group(group_configs(plan))
        self._choose = random.Random(plan.seed)
        settings = JournaledSettings(
            broker.servers, self._group_id, self._topic.name, self._dead, str(self._journal), str(self._outage),
            plan.is_async, plan.keeps_order, plan.timeout_s,
        )  # fmt: skip
        self.fleet = fleet_of(plan, settings, directory / "log")

    def run(self) -> WorkerRecords:
        """Let records flow, strike, wait until everything is settled, and stop the worker."""
        flow = RecordFlow(self._broker.servers, self._topic, self._plan.poisons, self._choose)
        with self.fleet as fleet:
            with flow:
                for blow in self._plan.blows:
                    self._make_progress()
                    self._strike(blow)
                self._make_progress()
            flow.end()
            self._broker.wait_for_lag(self._group_id, self._topic, timeout_s=PATIENCE_S)
            statuses = fleet.end()
        assert set(statuses) == {0}, (statuses, fleet.log_tail())
        return WorkerRecords(flow.written, [*entries_in(self._journal)], self._broker.letters(self._dead))

    def _make_progress(self) -> None:
        """Wait until more records are done than now."""
        before = self._done()
        wait_until(lambda: self._done() >= before + PROGRESS, PATIENCE_S, self._done)

    def _done(self) -> int:
        return self._journal.read_bytes().count(f"{Step.DONE.value} ".encode())

    def _strike(self, blow: BlowKind) -> None:
        if blow.outage_s is not None:
            self._outage.touch()
            wait_s(blow.outage_s)
            self._outage.unlink()
        else:
            self._others[blow]()

    @property
    def _others(self) -> Mapping[BlowKind, Callable[[], None]]:
        return {
            BlowKind.BROKER_OUTAGE: lambda: self._broker.is_away_for(BROKER_OUTAGE_S),
            BlowKind.KILL_ONE: lambda: self.fleet.kill_one(self._choose),
            BlowKind.KILL_ALL: self.fleet.kill_all,
            BlowKind.FREEZE_ONE: self._freeze,
        }

    def _freeze(self) -> None:
        with self.fleet.one_standing_still(self._choose):
            wait_s(STALL_S)


def fleet_of(plan: StrikePlan, settings: JournaledSettings, log: Path) -> WorkerFleet:
    """Return the processes of a plan: the worker starts and watches them itself, or the fleet does."""
    if not plan.is_supervised:
        command = ["-m", "tests.support.workers.journaled_worker", settings.argument]
        return WorkerFleet(command, plan.processes, log)
    command = ["-m", "tests.support.workers.supervised_worker", str(plan.processes)]
    return WorkerFleet(command, 1, log, {SETTINGS_VARIABLE: settings.argument}, is_supervised=True)


def group_configs(plan: StrikePlan) -> Mapping[str, str]:
    """The configs of a group. Its members that were killed are soon forgotten, if any are."""
    session = {} if plan.theme is Theme.SINK else {"share.session.timeout.ms": str(SESSION_MS)}
    return {
        "share.record.lock.duration.ms": str(LOCK_MS),
        "share.delivery.count.limit": str(plan.delivery_limit),
        **session,
    }
