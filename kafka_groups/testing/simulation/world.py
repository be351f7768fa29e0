"""The world of a simulation: brokers, a network and processes in virtual time, under faults drawn from a seed."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVarTuple, Unpack

from kafka_groups.broker.producing import Payload, TopicPartitionOffset
from kafka_groups.config.clients.keywords import ShareConsumerKeywords
from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.parts import Environment
from kafka_groups.testing.simulation.processes import SimulatedProcess
from kafka_groups.testing.simulation.stage import Stage
from kafka_groups.testing.simulation.supervisor import ErrorTypes

__all__ = ["SimulatedWorld"]

Ts = TypeVarTuple("Ts")

DEFAULT_SETTLING_S = 300.0
_LOOK_S, _LAST_WORK_S, _RETRY_S = 1.0, 10.0, 0.1


class SimulatedWorld:
    """Brokers, a network and the processes of an application in virtual time. `simulate` creates it for your program.

    Processes share nothing but the brokers and the objects that your program gives them. Such an object stands for
    something outside of the processes that survives them, such as a database.

    Args:
        stage: The parts of the world.
        faults_end: Is done when the faults have ended.

    Attributes:
        seed: The seed of the run.
        rng: Randomness for your program. The same seed gives the same numbers.
        clock: Virtual time. `now_ms()` is monotonic, `wall_ms()` is the time since the epoch.
        cluster: The brokers: create topics, configure groups, and ask what groups did.
        struck: The number of times that each fault has occurred.
        violations: Append what must never happen and did. The report has these too.
        tap: The observer of the wire.
    """

    def __init__(self, stage: Stage, faults_end: "asyncio.Future[None]") -> None:
        self._stage = stage
        self._faults_end = faults_end
        self.seed = stage.simulation.seed
        self.rng = stage.simulation.rng
        self.clock = stage.simulation.clock
        self.cluster = stage.cluster
        self.struck = stage.draws.counts
        self.violations = stage.violations
        self.tap = stage.tap

    def __repr__(self) -> str:
        return f"<SimulatedWorld of seed {self.seed}: {self.cluster!r}>"

    @property
    def is_faulty(self) -> bool:
        """True if faults strike at the moment."""
        return self._stage.draws.is_on

    # ------------------------------------------------------------------------------------- the application

    def environment(self) -> Environment:
        """Return the environment of a consumer: the network, virtual time, and randomness of its own."""
        return Environment(self._stage.network, self.clock, random.Random(self.rng.random()))

    def consumer(self, **keywords: Unpack[ShareConsumerKeywords]) -> AsyncKafkaShareConsumer[Any, Any]:
        """Return a consumer that is connected to the brokers of this world.

        Args:
            **keywords: The consumer's configuration, such as `group_id`.

        Raises:
            ConfigurationError: The configuration is invalid.
        """
        keywords.setdefault("bootstrap_servers", self.cluster.bootstrap_servers)
        return AsyncKafkaShareConsumer(environment=self.environment(), **keywords)

    def start(
        self,
        main: Callable[[*Ts], Coroutine[Any, Any, object]],
        *args: *Ts,
        name: str | None = None,
        restart_on: ErrorTypes = (),
    ) -> SimulatedProcess:
        """Start a process of the application. Faults kill or stop it now and then, and start it again.

        The process runs until the coroutine that `main` returns is done. It loses all local variables when it ends.

        Args:
            main: An async function.
            *args: Its arguments, which are the same for each start.
            name: The name of the process. The default is the function's name and a number.
            restart_on: Exceptions after which the process is started again a second later, as a supervisor would. Any
                other exception that ends the process ends the simulation.
        """
        number = len(self._stage.supervisor.processes) + 1
        name = name or f"{getattr(main, '__name__', 'process')}-{number}"
        return self._stage.supervisor.start(partial(main, *args), name, restart_on)

    async def produce(
        self,
        topic: str,
        values: Iterable[Payload],
        *,
        keys: Iterable[Payload] | None = None,
        headers: Sequence[tuple[str, Payload]] = (),
        partition: int | None = None,
    ) -> list[TopicPartitionOffset]:
        """Append records to a topic, as `EmbeddedCluster.produce`, once all its partitions have a leader that is up.

        Raises:
            LookupError: The topic does not exist.
        """
        await _until(lambda: self._has_leaders(topic), _RETRY_S)
        return self.cluster.produce(topic, values, keys=keys, headers=headers, partition=partition)

    def strikes(self, name: str, probability: float) -> bool:
        """Draw whether a fault of your own strikes now, such as a database that refuses a write.

        Args:
            name: Its name, under which it is counted.
            probability: The probability, from 0 to 1. After the end of all faults it is 0.
        """
        return self._stage.draws.strikes(self.rng, name, probability)

    def note(self, *event: object) -> None:
        """Write an event of your own to the trace. It becomes part of the digest.

        Args:
            *event: What happened. Its `repr` must be the same in each run, so it must not contain addresses.
        """
        self._stage.trace.note(*event)

    async def settle(self, *, within_s: float = DEFAULT_SETTLING_S) -> None:
        """Wait for the end of the faults, and then until the groups have finished all records.

        The records of a group are finished when its lag is 0. Ten more seconds pass then, for the work that follows an
        acknowledgement.

        Args:
            within_s: The longest wait after the end of the faults, in virtual seconds. What is unfinished then is a
                violation.
        """
        await asyncio.shield(self._faults_end)
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await _until(self._is_finished, _LOOK_S)
        await asyncio.sleep(_LAST_WORK_S)

    def _has_leaders(self, topic: str) -> bool:
        known = self.cluster.metadata.topic(topic)
        if known is None:
            raise LookupError(f"Topic '{topic}' does not exist. Create it with world.cluster.create_topic.")
        return {led.leader_id for led in known.partitions} <= set(self.cluster.running_brokers)

    def _is_finished(self) -> bool:
        is_empty = all(self.cluster.group(group_id).lag == 0 for group_id in self.tap.ledgers)
        return is_empty and not self._stage.verdict.unfinished()


async def _until(condition: Callable[[], bool], look_s: float) -> None:
    while not condition():  # noqa: ASYNC110 - looking again takes only virtual time
        await asyncio.sleep(look_s)
