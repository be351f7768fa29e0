"""The parts of a worker: its connections, and what reads, restores and writes for its tasks."""

from attrs import field, frozen

from kafka_groups.net.clock import Clock
from kafka_groups.records.interface import DataPlane
from kafka_groups.streams.engines.interface import EngineFactory
from kafka_groups.streams.engines.shared_memory import MemoryEngines
from kafka_groups.streams.runtime.consuming import Consuming
from kafka_groups.streams.runtime.global_stores import GlobalStores
from kafka_groups.streams.runtime.output import WorkerOutput
from kafka_groups.streams.runtime.restoration import Restoration
from kafka_groups.streams.runtime.restore_listeners import RestoreEvents
from kafka_groups.streams.runtime.restore_progress import RestoreProgress
from kafka_groups.streams.runtime.settings import WorkerSettings
from kafka_groups.streams.runtime.worker_membership import WorkerMembership
from kafka_groups.streams.runtime.worker_sensors import WorkerSensors

__all__ = ["WorkerParts"]


@frozen(eq=False)
class WorkerParts:
    """The parts of one worker, which it shares with what manages its tasks.

    Attributes:
        settings: Of the application.
        plane: Where its records come from and go to.
        member: Its place in the group.
        clock: Its time.
        engine_factory: Makes the engines that keep the committed state of its tasks.
        events: Tells listeners of restorations.
        progress: Logs how they proceed.
        sensors: Its counts and times, for metrics.
        output: Writes the records of sinks and the changes of stores.
        global_stores: The stores that every worker has.
        restoration: Fills the stores of tasks.
        consuming: Reads the sources of tasks.
    """

    settings: WorkerSettings
    plane: DataPlane
    member: WorkerMembership
    clock: Clock
    engine_factory: EngineFactory = field(factory=MemoryEngines)
    events: RestoreEvents = field(init=False)
    progress: RestoreProgress = field(init=False)
    sensors: WorkerSensors = field(init=False)
    output: WorkerOutput = field(init=False)
    global_stores: GlobalStores = field(init=False)
    restoration: Restoration = field(init=False)
    consuming: Consuming = field(init=False)

    @events.default
    def _events(self) -> RestoreEvents:
        return RestoreEvents(self.settings.listeners)

    @progress.default
    def _progress(self) -> RestoreProgress:
        return RestoreProgress(self.clock)

    @sensors.default
    def _sensors(self) -> WorkerSensors:
        return WorkerSensors(self.clock)

    @output.default
    def _output(self) -> WorkerOutput:
        return WorkerOutput(self.plane, self.clock, self.settings.task_timeout_ms)

    @restoration.default
    def _restoration(self) -> Restoration:
        return Restoration(self.plane, self.member, self.clock, self.events, self.progress)

    @global_stores.default
    def _global_stores(self) -> GlobalStores:
        return GlobalStores(
            self.settings, self.engine_factory, self.plane, self.output, self.clock, self.events, self.progress
        )

    @consuming.default
    def _consuming(self) -> Consuming:
        return Consuming(self.plane, self.settings, self.clock)
