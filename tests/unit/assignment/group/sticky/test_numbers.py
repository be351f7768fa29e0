from kafka_groups.assignment import DescribedSubtopology, TopologyDescriber
from kafka_groups.assignment.group.sticky.numbers import NumberedTasks

TASKS = NumberedTasks.of(
    TopologyDescriber(
        {
            "b": DescribedSubtopology(0),
            "c": DescribedSubtopology(2, is_stateful=True),
            "a": DescribedSubtopology(3),
            "d": DescribedSubtopology(0),
        }
    )
)


def test_tasks_are_numbered_by_subtopology_and_partition() -> None:
    assert TASKS.count == 5
    assert list(TASKS.numbers({"c": {1, 0}, "a": {2}})) == [3, 4, 2]
    assert TASKS.partitions() == [0, 1, 2, 0, 1]
    assert list(TASKS.stateful_numbers()) == [3, 4]


def test_tasks_that_the_topology_no_longer_has_have_no_numbers() -> None:
    assert list(TASKS.numbers({"b": {0}, "c": {1, 2}, "e": {0}})) == [4]
    assert dict(TASKS.numbered_offsets({"b": {0: 7}, "c": {1: 8, 2: 9}, "e": {0: 9}})) == {4: 8}


def test_numbers_become_tasks_again() -> None:
    assert TASKS.by_subtopology([4, 0, 2, 3]) == {"a": {0, 2}, "c": {0, 1}}
    assert TASKS.by_subtopology([]) == {}
