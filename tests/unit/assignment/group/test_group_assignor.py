from kafka_groups.assignment import DescribedSubtopology, TopologyDescriber


def test_each_subtopology_has_as_many_tasks_as_its_widest_input() -> None:
    topology = TopologyDescriber(
        {"1": DescribedSubtopology(2), "0": DescribedSubtopology(1), "2": DescribedSubtopology(0)}
    )
    assert list(topology.tasks()) == [("1", 0), ("1", 1), ("0", 0)]
