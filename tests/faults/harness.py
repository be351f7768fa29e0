"""One run: records, a pipeline in a driver process, the faults that it asks for, and the verdict."""

import signal
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import psutil

from kafka_groups.net.clock import SystemClock
from tests.faults.board import Board, Request, pause
from tests.faults.drivers import Driver, Drivers, kill_executor, kill_source_runner
from tests.faults.handling import Job
from tests.faults.ledger import Key, Ledger
from tests.faults.plan import DESIGNS, Kind, Plan
from tests.faults.report import Report, judge
from tests.faults.targets import Source, Target

_TURN_S = 0.03
_LOOK_EVERY = 8
_STALL_S = 180.0
_END_MS = 60_000
_SETTLED_MS = 15_000
"""When nothing came into the sink for so long, and the broker has nothing left, what is missing is lost."""


class NoVictimError(Exception):
    """The process that a fault is for has ended by itself."""


def _as_it_is(job: Job) -> Job:
    return job


def run_plan(
    plan: Plan,
    target: Target,
    drivers: Drivers,
    *,
    stall_s: float = _STALL_S,
    changes: Sequence[Callable[[Job], Job]] = (_as_it_is,),
) -> Report:
    """Carry out a plan.

    Args:
        plan: What is to happen.
        target: The broker.
        drivers: Where pipelines run.
        stall_s: When nothing new comes into the sink for so long, the run is ended and judged as it is.
        changes: Each makes a job of the plan's; they run one after the other. For the controls.
    """
    with tempfile.TemporaryDirectory(prefix="kafka-groups-run-", ignore_cleanup_errors=True) as directory:
        return _Run(plan, target, drivers, Path(directory)).carry_out(round(stall_s * 1000), changes)


class _Run:
    def __init__(self, plan: Plan, target: Target, drivers: Drivers, directory: Path) -> None:
        self._plan = plan
        self._target = target
        self._drivers = drivers
        self._directory = directory
        self._board = Board.set_up(directory / "board", plan)
        self._ledger = Ledger(directory / "ledger.db")
        self._ledger.create()
        self._clock = SystemClock()
        self._source: Source
        self._driver: Driver
        self._job: Job
        self._produced: dict[Key, bytes] = {}
        self._due: list[tuple[int, Request]] = []
        self._seen: set[str] = set()
        self._sunk = -1
        self._moved_ms = 0
        self._problems: list[str] = []
        self._answer: dict[str, Any] | None = None
        self._dead_letter_topic: str | None = None

    def carry_out(self, stall_ms: int, changes: Sequence[Callable[[Job], Job]]) -> Report:
        self._driver = self._drivers.take(self._plan.master)
        begun_ms = self._clock.now_ms()
        self._source = self._target.new_source(self._plan)
        if self._plan.poison is not None:
            letters = attrs.evolve(self._plan, partitions=1)
            self._dead_letter_topic = self._target.new_source(letters).topic.name
        self._produce(self._plan.records // self._plan.sub_batches)
        for change in changes:
            self._answer = None
            self._job = change(self._new_job())
            self._start()
            self._attend(stall_ms)
        return self._report((self._clock.now_ms() - begun_ms) / 1000)

    # ------------------------------------------------------------------------------------- the run

    def _new_job(self) -> Job:
        plan = self._plan
        return Job(
            design=plan.design,
            mode=plan.mode,
            directory=str(self._directory),
            local_directory="",
            bootstrap_servers=self._source.bootstrap_servers,
            topic=self._source.topic.name,
            group_id=self._source.group_id,
            tasks=plan.tasks,
            max_records=plan.max_records,
            backoff_ms=plan.backoff_ms,
            dead_letter_topic=self._dead_letter_topic,
            poison=None if plan.poison is None else f"{plan.seed}-{plan.poison}",
        )

    def _start(self) -> None:
        self._driver.run(attrs.evolve(self._job, local_directory=str(self._driver.local_directory)))

    def _produce(self, count: int) -> None:
        first = len(self._produced)
        self._produced |= self._target.produce(self._source, self._plan, range(first, first + count))

    def _attend(self, stall_ms: int) -> None:
        turns = 0
        self._moved()
        while self._answer is None:
            self._fulfil_requests()
            if not self._driver.is_alive:
                self._start_again()
            if turns % _LOOK_EVERY == 0 and not self._board.is_finished:
                self._look(stall_ms)
            turns += 1
            pause(_TURN_S)
            self._answer = self._driver.answer()
            if self._answer is None and self._still_ms > stall_ms + _END_MS:
                self._answer = {"event": "crashed", "trace": "it did not end"}

    def _look(self, stall_ms: int) -> None:
        sunk = self._ledger.size()
        if sunk != self._sunk:
            self._sunk = sunk
            self._moved()
        left = self._plan.records - len(self._produced)
        if left and 2 * sunk >= len(self._produced):  # the rest comes while the pipeline works
            self._produce(min(left, self._plan.records // self._plan.sub_batches))
        elif not left and self._is_drained(sunk):
            self._board.finish()
        elif self._still_ms > stall_ms:
            told = f"{self._target.describe(self._source)}\n{self._driver.log_tail()}"
            self._problems.append(f"nothing moved for {self._still_ms} ms: {told}")
            self._ask_another_member()
            self._board.finish()

    def _moved(self) -> None:
        self._moved_ms = self._clock.now_ms()

    @property
    def _still_ms(self) -> int:
        return self._clock.now_ms() - self._moved_ms

    def _is_drained(self, sunk: int) -> bool:
        """Whether the group has delivered all to an end, and it is in the sink or nothing has moved for long."""
        is_settled = sunk >= len(self._produced) or self._still_ms > _SETTLED_MS
        return is_settled and self._target.lag(self._source) == 0

    def _start_again(self) -> None:
        self._driver = self._drivers.take(self._plan.master)
        self._start()
        self._moved()

    def _ask_another_member(self) -> None:
        """When records are missing: whether the broker still delivers them, to somebody else."""
        count = self._target.delivered_to_another(self._source)
        self._problems.append(f"another member that joined then got {count} records")

    # ---------------------------------------------------------------------------------- the faults

    def _fulfil_requests(self) -> None:
        now_ms = self._clock.now_ms()
        for request in self._board.requests():
            if request.name not in self._seen:
                self._seen.add(request.name)
                self._due.append((now_ms + request.delay_ms, request))
        due = [request for at_ms, request in self._due if at_ms <= now_ms]
        self._due = [(at_ms, request) for at_ms, request in self._due if at_ms > now_ms]
        for request in due:
            self._fulfil(request)

    def _fulfil(self, request: Request) -> None:
        acts: dict[Kind, Callable[[], object]] = {
            Kind.RUNNER_KILLED: self._kill_runner,
            Kind.RUNNER_TERMINATED: lambda: self._kill_runner(signal.SIGTERM),
            Kind.EXECUTOR_KILLED: lambda: kill_executor(request.pid),
            Kind.DRIVER_KILLED: lambda: self._drivers.kill(self._driver),
            Kind.CONNECTIONS_CUT: self._target.cut_connections,
            Kind.BROKER_RESTARTED: lambda: self._target.take_down(at_once=request.delay_ms == 0),
        }
        try:
            acts[request.kind]()
        except (NoVictimError, psutil.NoSuchProcess):  # it had ended by itself: this fault has not struck
            self._board.dismiss(request)
            return
        self._board.note(request.kind)
        self._board.dismiss(request)
        if request.kind is Kind.BROKER_RESTARTED:
            self._target.bring_back()

    def _kill_runner(self, signal_number: int = signal.SIGKILL) -> None:
        if not kill_source_runner(self._driver.mark, signal_number):
            raise NoVictimError

    # --------------------------------------------------------------------------------- the verdict

    def _report(self, seconds: float) -> Report:
        assert self._answer is not None
        lost, strange = judge(self._ledger, self._produced)
        if lost and self._dead_letter_topic is not None:  # a copy in the dead-letter topic is not a loss
            letters = self._target.dead_letters(self._dead_letter_topic)
            lost = tuple(key for key in lost if key not in letters)
        lag = self._target.lag(self._source)
        crashed = []
        if self._answer["event"] == "crashed":  # whatever it was, the next run gets a driver that is whole
            crashed = [f"{self._answer['trace']}\n{self._driver.log_tail()}"]
            self._drivers.kill(self._driver)
        if lost and self._answer["event"] == "ended" and not self._problems and self._plan.design in DESIGNS:
            self._ask_another_member()
        left = [f"a process outlives the driver: {command}" for command in self._drivers.leftovers()]
        return Report(
            plan=self._plan,
            seconds=seconds,
            produced=len(self._produced),
            lost=lost,
            strange=strange,
            lag=lag,
            redelivered=self._ledger.redelivered(),
            rewrites=self._ledger.rewrites(),
            highest_delivery_count=self._ledger.highest_delivery_count(),
            struck=self._board.struck(),
            failures=tuple(self._answer.get("failures", ())),
            problems=(*self._problems, *crashed, *left),
        )
