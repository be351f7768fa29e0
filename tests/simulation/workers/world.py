"""One simulated run of handler workers: processes of one group that are killed, stopped and cut off at bad moments."""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from attrs import define, field

from kafka_groups.config.clients.share import share_consumer_config
from kafka_groups.errors import ConfigurationError, KafkaGroupsError
from kafka_groups.share.workers.handlers import HandlerSpec, checked_handler
from kafka_groups.share.workers.running.record_writing import ProcessWriter, confirmed_writer
from kafka_groups.share.workers.running.runtime import WorkerRuntime
from kafka_groups.share.workers.running.runtime_settings import RuntimeSettings
from kafka_groups.telemetry.workers import WorkerTelemetry
from kafka_groups.testing.simulation import SimulatedProcess, SimulatedWorld, SimulationReport, simulate
from kafka_groups.types import TopicIdPartition
from tests.simulation.reporting import report_of
from tests.simulation.workers.dead_letter_topic import DeadLetterLog, WatchedWriter, break_writes
from tests.simulation.workers.handler import SimulatedHandler, Sink
from tests.simulation.workers.jobs import FatalError, Job, JobKind
from tests.simulation.workers.journal import HandlerJournal
from tests.simulation.workers.lifetime import WorkerLifetime
from tests.simulation.workers.output_log import OutputLog
from tests.simulation.workers.plan import FAULTY_S, LifetimeOptions, Plan
from tests.simulation.workers.retries import RetryBook
from tests.simulation.workers.sent_acknowledgements import SentAcknowledgements, watch_acknowledgements
from tests.simulation.workers.verdict import judge_results

__all__ = ["run_workers_world"]

GROUP, BROKERS = "workers", 3
SHUTDOWN_S, CLOSE_S = 8.0, 12.0
"""How long a stopped worker may run on what it holds, and how long its consumer may need to leave the group."""
SETTLING_S = 600
SETTINGS = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.min.session.timeout.ms": "1000",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.max.delivery.count.limit": "10",
}
_KEYS = ("ant", "bee", "cat", "dog", None, None)
_BURSTS = (1, 1, 2, 5, 20)
_RESTART_S = (1, 2, 5)
_FILL = 110
"""So many good records fill the smallest window."""


@define(eq=False)
class WorkersRun:
    """The parts of a run.

    Attributes:
        world: Where it takes place.
        plan: What it is like.
        journal: What the handlers did.
        sent: What the workers told the brokers.
        letters: What was copied.
        outputs: What handlers returned.
        retries: Which failures used a retry.
        sink: Where results go.
        lifetimes: All lifetimes of the first handler of all processes. The last one of a process is the current one.
    """

    world: SimulatedWorld
    plan: Plan
    journal: HandlerJournal
    sent: SentAcknowledgements
    letters: DeadLetterLog
    outputs: OutputLog
    retries: RetryBook
    sink: Sink = field(factory=Sink)
    lifetimes: list[WorkerLifetime] = field(factory=list)
    processes: dict[str, SimulatedProcess] = field(factory=dict)

    @classmethod
    def built(cls, world: SimulatedWorld, plan: Plan) -> "WorkersRun":
        """Put the parts together."""
        now_ms, violations = world.clock.now_ms, world.violations
        sent = watch_acknowledgements(world, GROUP, plan)
        journal = HandlerJournal(plan, now_ms, violations, sent)
        retries = RetryBook(violations)
        letters = DeadLetterLog(violations, retries.judge, is_strict=plan.keeps_locks)
        outputs = OutputLog(violations, journal)
        sent.journal, sent.letters, sent.outputs = journal, letters, outputs
        return cls(world, plan, journal, sent, letters, outputs, retries)

    @property
    def rng(self) -> random.Random:
        """Source of all randomness."""
        return self.world.rng

    def current(self, process: SimulatedProcess) -> WorkerLifetime | None:
        """Return the lifetime of a process that began last."""
        return next((lifetime for lifetime in reversed(self.lifetimes) if lifetime.process is process), None)

    def kill(self, lifetime: WorkerLifetime) -> None:
        """Kill the process of a lifetime."""
        self.world.note(lifetime.name, "killed")
        for each in lifetime.in_process:
            self.sent.killed(each.member_id)
        lifetime.process.kill()

    def is_mended(self, plan: Plan) -> bool:
        """Return whether poison of a handler is good by now, because nothing else would end it."""
        return not plan.gives_up and not self.world.is_faulty

    def partition(self, name: str, number: int) -> TopicIdPartition:
        """Return a partition of a topic."""
        topic = self.world.cluster.metadata.topic(name)
        assert topic is not None
        return TopicIdPartition(topic.topic_id, number)


def run_workers_world(seed: int, write_event: Callable[[str], object] = lambda _line: None) -> SimulationReport:
    """Run one seed; each event is also written as a line."""
    plan = Plan.drawn(seed, random.Random(f"{seed}/plan"))
    program = partial(_run, plan)
    options: dict[str, Any] = {"faults": plan.faults, "brokers": BROKERS, "settings": SETTINGS}
    return report_of(partial(simulate, program, seed, write_event=write_event, **options))


async def _run(plan: Plan, world: SimulatedWorld) -> None:
    world.note("plan", plan)
    world.struck[f"{plan.profile.value} runs"] += 1
    world.struck["runs with several handlers"] += plan.handlers > 1
    for each in plan.by_handler:
        world.cluster.create_topic(each.topic, plan.partitions)
        world.cluster.create_topic(each.letters, 1)
        world.cluster.create_topic(each.outputs, 2)
    world.cluster.alter_group_configs(GROUP, plan.group_configs)
    run = WorkersRun.built(world, plan)
    acts = world._stage.chaos.acts
    acts["process_killed"], acts["process_stalled"] = partial(_kill_any, run), partial(_stall_any, run)
    break_writes(world, run.letters)
    with run.retries.watching():
        await _play(run)
    judge_results(world, plan, run.sent, run.letters)
    for each in plan.by_handler:
        run.letters.judge_topic(world, each.letters)
        if each.has_outputs:
            run.outputs.judge_topic(world, each, run.sent.ledger, run.sent)


async def _play(run: WorkersRun) -> None:
    for number in range(run.plan.processes):
        name = f"worker-{number}"
        run.processes[name] = run.world.start(_live, run, name, name=name, restart_on=(FatalError, KafkaGroupsError))
    restarting = asyncio.create_task(_restart_killed(run))
    sink = asyncio.create_task(_break_sink(run))
    letters = asyncio.create_task(_break_letters(run))
    await _produce(run)
    await asyncio.gather(sink, letters)
    await _until_finished(run)
    await run.world.settle(within_s=1)
    restarting.cancel()
    await asyncio.gather(*(process.stop() for process in run.processes.values()))


# ------------------------------------------------------------------------------------------- the processes


async def _live(run: WorkersRun, name: str) -> None:
    """One lifetime of a worker process."""
    await asyncio.sleep(0)  # until `start` has returned
    rng = random.Random(run.rng.random())
    lifetimes = _lifetimes(run, run.processes[name], rng)
    lifetime = lifetimes[0]
    run.lifetimes.append(lifetime)
    run.world.note(lifetime.name, "begins", *(each.options for each in lifetimes))
    runtime = _runtime(run, lifetime)
    try:
        await runtime.start()
    except ConfigurationError as error:
        run.world.violations.append(f"{lifetime.name}: refuses to start: {error}")
        raise
    for each in lifetimes:
        each.has_started(runtime)
        run.sent.lifetimes[each.member_id] = each
    await _until_stopped(run, lifetime, runtime)


def _lifetimes(run: WorkersRun, process: SimulatedProcess, rng: random.Random) -> Sequence[WorkerLifetime]:
    """Return the handlers of a process that begins."""
    number = len(run.lifetimes)
    lifetimes = [
        WorkerLifetime(number, process, plan, LifetimeOptions.drawn(plan, rng), rng) for plan in run.plan.by_handler
    ]
    for lifetime in lifetimes:
        lifetime.others = [other for other in lifetimes if other is not lifetime]
    return lifetimes


async def _until_stopped(run: WorkersRun, lifetime: WorkerLifetime, runtime: WorkerRuntime) -> None:
    waiting = asyncio.create_task(runtime.wait())
    try:
        await asyncio.shield(waiting)
    except asyncio.CancelledError:
        began_ms = run.world.clock.now_ms()
        runtime.stop(round(1000 * SHUTDOWN_S))
        await asyncio.wait([waiting])
        took_s = (run.world.clock.now_ms() - began_ms) / 1000
        run.world.note(lifetime.name, "stopped", took_s)
        if took_s > SHUTDOWN_S + CLOSE_S:
            run.world.violations.append(f"{lifetime.name}: took {took_s:.1f} s to stop")
        if waiting.exception() is None:
            raise


def _runtime(run: WorkersRun, lifetime: WorkerLifetime) -> WorkerRuntime:
    given = {
        "bootstrap_servers": run.world.cluster.bootstrap_servers,
        "client_id": lifetime.name,
        "fetch_max_wait_ms": 2_000,
        "request_timeout_ms": 6_000,
        "default_api_timeout_ms": 20_000,
    }
    settings = RuntimeSettings(
        group_id=GROUP,
        given=given,
        environment=run.world.environment(),
        shutdown_ms=round(1000 * SHUTDOWN_S),
        writer=partial(_writer, run, lifetime, given),
        timer=lambda: run.world.clock.now_ms() / 1000,
    )
    return WorkerRuntime(settings, [_spec(run, each) for each in lifetime.in_process], None, WorkerTelemetry(GROUP))


def _spec(run: WorkersRun, lifetime: WorkerLifetime) -> HandlerSpec:
    plan = lifetime.plan
    handler = SimulatedHandler(
        run.world, lifetime, run.journal, run.sink, run.outputs, partial(run.is_mended, plan), run.kill
    )
    function: Callable[..., object] = handler.batch if plan.is_batch else handler.single
    output = plan.outputs if plan.has_outputs else None
    batch, keywords = lifetime.options.batch, lifetime.options.keywords(plan)
    return checked_handler(function, plan.topic, output=output, batch=batch, options=keywords)


def _writer(run: WorkersRun, first: WorkerLifetime, given: Mapping[str, object]) -> ProcessWriter:
    config = share_consumer_config(given, group_id=GROUP)
    writer = confirmed_writer(config, {}, run.world.environment())
    return WatchedWriter(writer, first.in_process, run.letters, run.outputs, run.world.clock.now_ms)


# ------------------------------------------------------------------------------------------------ faults


async def _restart_killed(run: WorkersRun) -> None:
    """Start processes again that their own records have killed."""
    while True:
        await asyncio.sleep(run.rng.choice(_RESTART_S))
        for process in run.processes.values():
            if not process.is_running:
                process.start()


async def _kill_any(run: WorkersRun) -> None:
    lifetime = _any(run)
    if lifetime is not None:
        run.world.struck["process_killed"] += 1
        run.kill(lifetime)


async def _stall_any(run: WorkersRun) -> None:
    lifetime = _any(run)
    if lifetime is not None:
        run.world.struck["process_stalled"] += 1
        await lifetime.process.stall(run.rng.uniform(0.1, 20))
        for each in lifetime.in_process:
            each.stalled_until_ms = run.world.clock.now_ms()


def _any(run: WorkersRun) -> WorkerLifetime | None:
    running = [process for process in run.processes.values() if process.is_running]
    return run.current(run.rng.choice(running)) if running else None


async def _break_sink(run: WorkersRun) -> None:
    """Let the sink be down for 3 to 60 seconds now and then."""
    while run.world.is_faulty:
        await asyncio.sleep(run.rng.uniform(10, 50))
        down_s = run.rng.choice((3, 10, 10, 60))
        if run.world.is_faulty:
            run.world.struck["sink outage"] += 1
            run.sink.is_refused = run.rng.random() < 0.5
            run.sink.down_until_ms = run.world.clock.now_ms() + 1000 * down_s
            await asyncio.sleep(down_s)


async def _break_letters(run: WorkersRun) -> None:
    """Let no dead letters be written now and then."""
    while run.world.is_faulty:
        await asyncio.sleep(run.rng.uniform(10, 60))
        down_s = run.rng.uniform(3, 30)
        if run.world.is_faulty:
            run.world.struck["letters refused"] += 1
            run.letters.down_until_ms = run.world.clock.now_ms() + round(1000 * down_s)
            await asyncio.sleep(down_s)


# ------------------------------------------------------------------------------------------------ records


async def _produce(run: WorkersRun) -> None:
    end_ms = run.world.clock.now_ms() + FAULTY_S * 900
    while run.world.clock.now_ms() < end_ms:
        await asyncio.sleep(run.rng.uniform(0.3, 9) / run.plan.processes)
        plan = run.rng.choice(run.plan.by_handler)
        jobs = [plan.drawn_job(run.rng) for _ in range(run.rng.choice(_BURSTS))]
        await _append(run, plan, jobs, run.rng.randrange(plan.partitions))


async def _append(run: WorkersRun, plan: Plan, jobs: Sequence[Job], partition: int) -> None:
    keys: Any = [run.rng.choice(_KEYS) for _ in jobs]
    await run.world.produce(plan.topic, [job.value for job in jobs], keys=keys, partition=partition)


async def _until_finished(run: WorkersRun) -> None:
    """Wait until all records are finished. Good ones go on to come: without any, nothing shows that the sink works."""
    end_ms = run.world.clock.now_ms() + SETTLING_S * 1000
    good = Job(JobKind.GOOD, 1)
    if run.plan.is_unblocked:
        await _append_everywhere(run, [good] * _FILL)
    while run.world.clock.now_ms() < end_ms:
        await asyncio.sleep(3)
        if run.world._is_finished() and not run.world.is_faulty:
            return
        await _append_everywhere(run, [good])


async def _append_everywhere(run: WorkersRun, jobs: Sequence[Job]) -> None:
    for plan in run.plan.by_handler:
        for partition in range(plan.partitions):
            await _append(run, plan, jobs, partition)
