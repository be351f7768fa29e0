"""Tasks and members as small numbers: an assignment of 100,000 tasks is computed with lists instead of tables."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Self

from attrs import frozen

from kafka_groups.assignment.group.group_assignor import (
    OffsetsBySubtopology,
    StreamsGroupSpec,
    TasksBySubtopology,
    TopologyDescriber,
)

__all__ = ["NumberedMembers", "NumberedTasks"]


@frozen
class NumberedTasks:
    """The tasks of a topology, numbered by subtopology id and then by partition.

    Attributes:
        subtopology_ids: The subtopology ids in order.
        firsts: The number of each subtopology's first task, and the number of all tasks at the end.
        stateful: Whether the tasks of each subtopology are stateful.
        places: The place of each subtopology id in the lists above.
    """

    subtopology_ids: Sequence[str]
    firsts: Sequence[int]
    stateful: Sequence[bool]
    places: dict[str, int]

    @classmethod
    def of(cls, topology: TopologyDescriber) -> Self:
        """Number the tasks of a topology."""
        ids = sorted(topology.subtopologies)
        described = [topology.subtopologies[id_] for id_ in ids]
        firsts = [0, *accumulate(each.max_num_input_partitions for each in described)]
        return cls(ids, firsts, [each.is_stateful for each in described], {id_: at for at, id_ in enumerate(ids)})

    @property
    def count(self) -> int:
        """The number of tasks."""
        return self.firsts[-1]

    def numbers(self, tasks: TasksBySubtopology) -> Iterator[int]:
        """Yield the numbers of those tasks that the topology still has, in ascending order for each subtopology."""
        for subtopology_id, partitions in tasks.items():
            place = self.places.get(subtopology_id)
            # The previous assignment may have sub-topologies that are gone, and tasks of topics that were created anew
            # with fewer partitions. Kafka's assignor remembers them and never asks for them.
            if place is not None:
                first, end = self.firsts[place], self.firsts[place + 1]
                yield from (first + partition for partition in sorted(partitions) if first + partition < end)

    def numbered_offsets(self, offsets: OffsetsBySubtopology) -> Iterator[tuple[int, int]]:
        """Yield the numbers of those tasks that the topology still has, each with its offset."""
        for subtopology_id, by_partition in offsets.items():
            place = self.places.get(subtopology_id)
            # The same holds for state on disk.
            if place is not None:
                first, end = self.firsts[place], self.firsts[place + 1]
                for partition, offset in by_partition.items():
                    if first + partition < end:
                        yield first + partition, offset

    def stateful_numbers(self) -> Iterator[int]:
        """Yield the numbers of all stateful tasks."""
        for place, is_stateful in enumerate(self.stateful):
            if is_stateful:
                yield from range(self.firsts[place], self.firsts[place + 1])

    def partitions(self) -> list[int]:
        """Return the partition number of each task."""
        return [number - first for first, end in self._ranges() for number in range(first, end)]

    def by_subtopology(self, numbers: Iterable[int]) -> dict[str, frozenset[int]]:
        """Return numbered tasks as partition numbers by subtopology id."""
        ascending = sorted(numbers)
        found: dict[str, frozenset[int]] = {}
        begin = 0
        while begin < len(ascending):
            place = bisect_right(self.firsts, ascending[begin]) - 1
            first = self.firsts[place]
            end = bisect_left(ascending, self.firsts[place + 1], begin)
            found[self.subtopology_ids[place]] = frozenset([number - first for number in ascending[begin:end]])
            begin = end
        return found

    def _ranges(self) -> Iterable[tuple[int, int]]:
        return zip(self.firsts, self.firsts[1:], strict=False)


@frozen
class NumberedMembers:
    """The members of a group. Neighbours are in different processes, so ties do not favour a process.

    Attributes:
        member_ids: The ids of the members: first one of each process, then a second one, and so on.
        process_of: The number of each member's process.
        of_process: The numbers of the members of each process.
    """

    member_ids: Sequence[str]
    process_of: Sequence[int]
    of_process: Sequence[Sequence[int]]

    @classmethod
    def of(cls, group: StreamsGroupSpec) -> Self:
        """Number the members of a group."""
        by_process: dict[str, list[str]] = {}
        # Kafka's assignor takes members in the order of a hash table. Sorted ids give the same result for the same
        # group on every broker.
        for member_id in sorted(group.members):
            by_process.setdefault(group.members[member_id].process_id, []).append(member_id)
        placed = sorted(
            (rank, process, member_id)
            for process, process_id in enumerate(sorted(by_process))
            for rank, member_id in enumerate(by_process[process_id])
        )
        of_process: list[list[int]] = [[] for _ in by_process]
        for number, (_, process, _) in enumerate(placed):
            of_process[process].append(number)
        return cls([member_id for *_, member_id in placed], [process for _, process, _ in placed], of_process)

    @property
    def count(self) -> int:
        """The number of members."""
        return len(self.member_ids)
