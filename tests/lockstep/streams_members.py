"""What clients remember of their memberships in a streams group (KIP-1071)."""

from typing import Any

from attrs import define, field, frozen

from kafka_groups.broker.coordinators.groups.streams.tasks import Tasks, task_set

NO_TASKS: Tasks = frozenset()


@frozen
class Told:
    """The tasks that a member may own."""

    active: Tasks = NO_TASKS
    standby: Tasks = NO_TASKS


@define
class StreamsState:
    """What a client knows of its membership.

    Attributes:
        life: How often it has been started before. Each life has a member id of its own.
        epoch: Its member epoch; 0 if it is not a member.
        told: The tasks that it was last told.
        before: The tasks that it was told before these.
        endpoints_epoch: The newest epoch of endpoints that it knows.
    """

    life: int = 0
    epoch: int = 0
    told: Told = field(factory=Told)
    before: Told = field(factory=Told)
    endpoints_epoch: int = 0

    def left(self) -> None:
        """It is not a member any more."""
        self.epoch, self.endpoints_epoch = 0, 0
        self.told = self.before = Told()

    def answered(self, response: Any) -> None:
        """Remember a response without an error."""
        self.epoch = response.member_epoch
        self.endpoints_epoch = response.endpoint_information_epoch
        if response.active_tasks is not None:
            self.before, self.told = (
                self.told,
                Told(task_set(response.active_tasks), task_set(response.standby_tasks)),
            )
