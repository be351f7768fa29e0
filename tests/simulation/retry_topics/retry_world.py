"""One simulated run of a worker with retry topics: killed, deployed and cut off while its records wait for hours."""

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

from attrs import define, field

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.share import Reject, Retry, RetryTopics, Worker, current_attempt
from kafka_groups.share.workers.rules.failures.backoffs import Backoff
from kafka_groups.share.workers.running import driver
from kafka_groups.share.workers.running.checks.retry_topic_checks import retry_topic_configs
from kafka_groups.share.workers.running.runtime import WorkerRuntime
from kafka_groups.share.workers.running.runtime_settings import RuntimeSettings
from kafka_groups.telemetry.workers import WorkerTelemetry
from kafka_groups.testing.simulation import SimulatedProcess, SimulatedWorld, SimulationReport, simulate
from tests.simulation.reporting import report_of
from tests.simulation.retry_topics.attempt_journal import AttemptJournal, RetriedJob
from tests.simulation.retry_topics.retry_plan import LETTERS, PREFIX, TOPIC, RetryPlan
from tests.simulation.retry_topics.topic_outages import TopicOutages

__all__ = ["run_retry_world"]

GROUP, BROKERS = "sales", 3
SHUTDOWN_S = 8.0
_SETTINGS = {
    "group.share.min.heartbeat.interval.ms": "5000",
    "group.share.max.heartbeat.interval.ms": "15000",
    "group.share.heartbeat.interval.ms": "15000",
    "group.share.max.record.lock.duration.ms": "3600000",
}
_GROUP_CONFIGS = {"share.record.lock.duration.ms": "60000", "share.session.timeout.ms": "45000"}
# A day has 86,400 seconds, in nearly all of which nothing happens but polls that bring nothing.
_IDLE_MS, _FETCH_MS = 15_000, 15_000
_RESTART_S = (1, 2, 5)
_TAKES_S = (0, 0.01, 0.5, 3)
_BURSTS = (1, 1, 3, 20)
_SETTLING_S = 900
_LAST_DELIVERIES_MS = 2 * 60_000
"""The last two deliveries of a record end so long after its last attempt at the latest: each lasts for a lock."""


@define(eq=False)
class RetryRun:
    """The parts of a run.

    Attributes:
        world: Where it takes place.
        plan: What it is like.
        journal: What the handlers did.
        outages: Outages of the topics that workers write.
        processes: The worker processes, with the runtime of each that runs.
    """

    world: SimulatedWorld
    plan: RetryPlan
    journal: AttemptJournal
    outages: TopicOutages
    processes: dict[str, SimulatedProcess] = field(factory=dict)
    runtimes: dict[str, WorkerRuntime] = field(factory=dict)

    @property
    def rng(self) -> random.Random:
        """Source of all randomness."""
        return self.world.rng

    @property
    def letters(self) -> set[int]:
        """The records that have a dead letter."""
        return {int(record.value or b"") for record in self.world.cluster.records(LETTERS)}

    @property
    def unfinished(self) -> list[int]:
        """The records that have neither come to their end nor become a dead letter.

        A record on one of its last deliveries is copied before it runs. If its process is killed then, that is its end.
        """
        ended = self.journal.ended
        open_ones = [job.number for job in self.journal.jobs if not ended[job.number]]
        return [number for number in open_ones if number not in self.letters] if open_ones else []

    def in_hand(self, name: str) -> int:
        """Return how many records a process has in hand, or has acknowledged without a confirmation."""
        running = self.runtimes[name]._running if name in self.runtimes else []
        held = sum(sum(each.handling.in_hand.values()) for each in running)
        commits = [each.driver._commits for each in running]
        unsent = sum(len(step.records) for each in commits for step in each._unsent)
        return held + unsent + sum(sent.count for each in commits for commit in each._commits for sent in commit.sent)

    def kill(self, name: str) -> None:
        """Kill a process."""
        self.world.struck["killed"] += 1
        self.world.note(name, "killed")
        self.journal.may_repeat += self.in_hand(name)
        self.processes[name].kill()


def run_retry_world(seed: int, write_event: Callable[[str], object] = lambda _line: None) -> SimulationReport:
    """Run one seed; each event is also written as a line."""
    plan = RetryPlan.drawn(seed, random.Random(f"{seed}/retries"))
    options: dict[str, Any] = {"faults": plan.faults, "brokers": BROKERS, "settings": _SETTINGS}
    with _long_idle_times():
        return report_of(partial(simulate, partial(_run, plan), seed, write_event=write_event, **options))


@contextmanager
def _long_idle_times() -> Iterator[None]:
    with patch.multiple(driver, _IDLE_MS=_IDLE_MS, _GAUGES_MS=_IDLE_MS, _WATCH_MS=1_000):
        yield


async def _run(plan: RetryPlan, world: SimulatedWorld) -> None:
    world.note("plan", plan)
    topics = RetryTopics(PREFIX, delays=plan.delays)
    for name in (TOPIC, LETTERS):
        world.cluster.create_topic(name, plan.partitions)
    for topic in topics.topics:
        world.cluster.create_topic(topic.topic, plan.partitions, configs=retry_topic_configs(topic.delay_ms))
    world.cluster.alter_group_configs(GROUP, {"share.auto.offset.reset": "earliest", **_GROUP_CONFIGS})
    world.cluster.alter_group_configs(f"{GROUP}-retry", _GROUP_CONFIGS)
    run = RetryRun(world, plan, AttemptJournal(world.clock.now_ms, world.violations), TopicOutages(world))
    run.outages.begin()
    for number in range(plan.processes):
        name = f"worker-{number}"
        run.processes[name] = world.start(_live, run, name, name=name, restart_on=(KafkaGroupsError,))
    striking = [asyncio.create_task(each(run)) for each in (_kill, _deploy, _break_topics, _restart)]
    await _produce(run)
    await _until_finished(run)
    for task in striking:
        task.cancel()
    await asyncio.gather(*(process.stop() for process in run.processes.values()))
    _judge(run)


def _judge(run: RetryRun) -> None:
    if not run.plan.breaks_brokers:  # a session that ends costs what a kill costs, and nobody counts it
        run.journal.judge_repeats()
    if unfinished := [number for number in run.unfinished if not _may_be_uncopied(run, number)]:
        run.world.violations.append(f"the records {unfinished[:10]} are lost")
    letters = run.letters
    run.world.struck["dead letters"] += len(letters)
    missing = [job.number for job in run.journal.jobs if job.is_rejected and job.number not in letters]
    if missing:
        run.world.violations.append(f"the rejected records {missing[:10]} have no dead letter")


def _may_be_uncopied(run: RetryRun, number: int) -> bool:
    """Return whether each process in which a record had a last delivery may have been killed before it was copied."""
    last_ms = run.journal.began_ms.get(number, 0)
    return run.plan.kill_s is not None and run.outages.was_down(LETTERS, last_ms, last_ms + _LAST_DELIVERIES_MS)


# ------------------------------------------------------------------------------------------- the processes


async def _live(run: RetryRun, name: str) -> None:
    """One lifetime of a worker process."""
    await asyncio.sleep(0)  # until `start` has returned
    runtime = _runtime(run, name)
    await runtime.start()
    run.runtimes[name] = runtime
    waiting = asyncio.create_task(runtime.wait())
    try:
        await asyncio.shield(waiting)
    except asyncio.CancelledError:
        # What still runs when the time is over is cancelled, and runs again.
        run.journal.may_repeat += run.in_hand(name)
        runtime.stop(round(1000 * SHUTDOWN_S))
        await asyncio.wait([waiting])
        raise


def _runtime(run: RetryRun, name: str) -> WorkerRuntime:
    world, rng = run.world, random.Random(run.rng.random())
    given = {"bootstrap_servers": world.cluster.bootstrap_servers, "client_id": name, "fetch_max_wait_ms": _FETCH_MS}
    settings = RuntimeSettings(
        group_id=GROUP,
        given={**given, "request_timeout_ms": 20_000, "default_api_timeout_ms": 30_000},
        environment=world.environment(),
        shutdown_ms=round(1000 * SHUTDOWN_S),
        timer=lambda: world.clock.now_ms() / 1000,
    )
    worker = Worker(GROUP, bootstrap_servers=world.cluster.bootstrap_servers)
    worker.handler(
        TOPIC,
        name="sell",
        concurrency=run.plan.concurrency,
        dead_letters=LETTERS,
        retries=Backoff(first=1, most=1, times=1_000),
        retry_topics=RetryTopics(PREFIX, delays=run.plan.delays),
    )(partial(_sell, run, rng))
    return WorkerRuntime(settings, worker.handlers, None, WorkerTelemetry(GROUP))


async def _sell(run: RetryRun, rng: random.Random, value: bytes) -> None:
    job, attempt = run.journal.jobs[int(value)], current_attempt().number
    run.world.note("begins", job.number, attempt)
    run.journal.began(job, attempt)
    await asyncio.sleep(rng.choice(_TAKES_S))
    if attempt <= len(job.waits):
        run.journal.failed(job, attempt)
        raise Retry("later", after=job.waits[attempt - 1])
    run.world.note("ends", job.number)
    run.journal.finished(job)
    if job.is_rejected:
        raise Reject("no")


# ------------------------------------------------------------------------------------------------ faults


async def _kill(run: RetryRun) -> None:
    mean_s = run.plan.kill_s
    while mean_s is not None:
        await asyncio.sleep(run.rng.uniform(0, 2 * mean_s))
        running = [name for name, process in run.processes.items() if process.is_running]
        if running and run.world.is_faulty:
            run.kill(run.rng.choice(running))


async def _deploy(run: RetryRun) -> None:
    """Stop the processes one after the other, and start them again, as a deployment does."""
    while run.plan.deploys:
        await asyncio.sleep(run.plan.deployment_s)
        if not run.world.is_faulty:
            return
        run.world.struck["deployed"] += 1
        for process in run.processes.values():
            await process.stop()
            if not process.is_running:
                process.start()


async def _break_topics(run: RetryRun) -> None:
    """Let topics take no records for a while now and then."""
    mean_s = run.plan.outage_s
    while mean_s is not None:
        await asyncio.sleep(run.rng.uniform(0, 2 * mean_s))
        down_s, topics = run.rng.uniform(1, mean_s / 2), RetryTopics(PREFIX, delays=run.plan.delays).names
        if run.world.is_faulty:
            run.world.struck["topic outage"] += 1
            for topic in run.rng.sample([LETTERS, *topics], run.rng.choice((1, 2))):
                run.outages.strike(topic, round(1000 * down_s))


async def _restart(run: RetryRun) -> None:
    while True:
        await asyncio.sleep(run.rng.choice(_RESTART_S))
        for process in run.processes.values():
            if not process.is_running:
                process.start()


# ------------------------------------------------------------------------------------------------ records


async def _produce(run: RetryRun) -> None:
    end_ms = run.world.clock.now_ms() + round(500 * run.plan.faulty_s)
    await _append(run, [RetriedJob(0, [run.plan.longest_s])])  # each deployment finds it waiting
    while run.world.clock.now_ms() < end_ms:
        await asyncio.sleep(run.rng.uniform(0, run.plan.faulty_s / 20))
        first = len(run.journal.jobs)
        await _append(
            run,
            [
                RetriedJob(first + number, run.plan.drawn_waits(run.rng), run.rng.random() < 0.1)
                for number in range(run.rng.choice(_BURSTS))
            ],
        )


async def _append(run: RetryRun, jobs: list[RetriedJob]) -> None:
    run.journal.jobs += jobs
    await run.world.produce(TOPIC, [job.value for job in jobs], partition=run.rng.randrange(run.plan.partitions))


async def _until_finished(run: RetryRun) -> None:
    waits_s = max(sum(job.waits) for job in run.journal.jobs)
    end_ms = run.world.clock.now_ms() + round(1000 * (run.plan.faulty_s + waits_s + _SETTLING_S))
    while run.world.clock.now_ms() < end_ms:
        await asyncio.sleep(5)
        if not run.world.is_faulty and not run.unfinished and run.world._is_finished():
            return
