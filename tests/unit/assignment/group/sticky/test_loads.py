import random

from kafka_groups.assignment import StreamsGroupSpec, StreamsMemberSpec
from kafka_groups.assignment.group.sticky.loads import Loads
from kafka_groups.assignment.group.sticky.numbers import NumberedMembers


def members(*sizes: int) -> NumberedMembers:
    """Processes of these sizes."""
    return NumberedMembers.of(
        StreamsGroupSpec(
            {
                f"{process}-{rank}": StreamsMemberSpec(f"p{process}")
                for process, size in enumerate(sizes)
                for rank in range(size)
            }
        )
    )


def test_members_are_numbered_across_processes() -> None:
    assert members(1, 3, 2).member_ids == ["0-0", "1-0", "2-0", "1-1", "2-1", "1-2"]


def test_ties_go_to_the_process_with_the_fewest_tasks_per_member() -> None:
    numbered = members(2, 2)
    loads = Loads(numbered)
    loads.change(0, 3)
    loads.change(1, 2)
    assert numbered.member_ids[loads.least()] == "1-1"


def test_nobody_is_outside_all_processes() -> None:
    loads = Loads(members(2, 1))
    assert loads.least_outside({0, 1}) is None
    assert loads.least_outside({0}) == 1
    assert loads.least() == 0


def test_the_least_loaded_member_is_found_after_any_changes() -> None:
    rng = random.Random(1)
    numbered = members(1, 5, 3, 1)
    loads = Loads(numbered)
    counts = [0] * numbered.count
    for _ in range(2_000):
        member = rng.randrange(numbered.count)
        by = rng.choice((1, 2)) if counts[member] == 0 else rng.choice((-1, 1))
        counts[member] += by
        loads.change(member, by)
        barred = {process for process in range(4) if rng.random() < 0.3}
        free = [counts[each] for each in range(numbered.count) if numbered.process_of[each] not in barred]
        found = loads.least_outside(barred)
        assert (found is None) == (not free)
        assert found is None or counts[found] == min(free)
        assert counts[loads.least()] == min(counts)
        for process, numbers in enumerate(numbered.of_process):
            assert counts[loads.least_in(process)] == min(counts[each] for each in numbers)
