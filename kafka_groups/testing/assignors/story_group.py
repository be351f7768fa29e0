"""The processes of a story's group: who joins, leaves, restarts, and which racks fail."""

from collections.abc import Mapping

from attrs import define, field

from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.errors import IllegalStateError
from kafka_groups.testing.assignors.story_processes import StoryProcess, process_id_for

__all__ = ["StoryGroup"]


@define(eq=False)
class StoryGroup:
    """The processes that are in the group, and those that were.

    Attributes:
        seed: The seed of the ids of processes.
        processes: All of them, by name.
        failed_racks: The racks that are down.
    """

    seed: int
    processes: dict[str, StoryProcess] = field(factory=dict)
    failed_racks: set[str] = field(factory=set)

    @property
    def present(self) -> tuple[StoryProcess, ...]:
        """The processes that are in the group."""
        return tuple(each for each in self.processes.values() if not each.is_away)

    @property
    def names(self) -> dict[ProcessId, str]:
        """The names of all processes by their ids."""
        return {each.id: each.name for each in self.processes.values()}

    def join(self, name: str, threads: int | None, rack: str | None, tags: Mapping[str, str] | None) -> None:
        """Let a process join. One that was there before has its state, and what is None as before.

        Raises:
            IllegalStateError: It is in the group already, its rack is down, or `threads` is less than one.
        """
        process = self.processes.get(name) or StoryProcess(name=name, id=process_id_for(name, 0, self.seed))
        if not process.is_away:
            raise IllegalStateError(f"Process {name!r} is in the group already. Use another name, or restart.")
        rack = process.rack if rack is None else rack
        if rack in self.failed_racks:
            raise IllegalStateError(f"Rack {rack!r} is down. Call restore_rack before process {name!r} joins.")
        process.rack = rack
        process.tags = process.tags if tags is None else dict(tags)
        process.start(_checked(process.threads if threads is None else threads))
        self.processes[name] = process

    def leave(self, name: str) -> None:
        """Let a process leave.

        Raises:
            IllegalStateError: It is not in the group.
        """
        self.member(name).stop()

    def restart(self, name: str, *, keeps_state: bool) -> None:
        """Restart a process.

        Raises:
            IllegalStateError: It is not in the group.
        """
        process = self.member(name)
        process.stop()
        if not keeps_state:
            process.disk = {}
            process.life += 1
            process.id = process_id_for(name, process.life, self.seed)
        process.start(process.threads)

    def resize(self, name: str, threads: int) -> None:
        """Change the number of threads of a process.

        Raises:
            IllegalStateError: It is not in the group, or `threads` is less than one.
        """
        self.member(name).resize(_checked(threads))

    def fail_rack(self, rack: str) -> None:
        """Take a rack down with its processes.

        Raises:
            IllegalStateError: It is down already.
        """
        if rack in self.failed_racks:
            raise IllegalStateError(f"Rack {rack!r} is down already.")
        self.failed_racks.add(rack)
        for each in self.present:
            if each.rack == rack:
                each.stop()
                each.failed_with = rack

    def restore_rack(self, rack: str) -> None:
        """Bring a rack back with the processes that have failed with it.

        Raises:
            IllegalStateError: It is not down.
        """
        if rack not in self.failed_racks:
            raise IllegalStateError(f"Rack {rack!r} is not down.")
        self.failed_racks.remove(rack)
        for each in self.processes.values():
            if each.failed_with == rack:
                each.start(each.threads)

    def member(self, name: str) -> StoryProcess:
        """Return a process that is in the group.

        Raises:
            IllegalStateError: It is not.
        """
        process = self.processes.get(name)
        if process is None or process.is_away:
            present = ", ".join(each.name for each in self.present) or "none"
            raise IllegalStateError(f"Process {name!r} is not in the group. Processes that are: {present}.")
        return process


def _checked(threads: int) -> int:
    if threads < 1:
        raise IllegalStateError(f"A process must have at least one thread, not {threads}.")
    return threads
