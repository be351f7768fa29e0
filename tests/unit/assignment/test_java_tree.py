"""Java's sorted set."""

import random

from kafka_groups.assignment.java_tree import JavaTreeSet


def test_elements_are_sorted_and_come_once() -> None:
    values = random.Random(1).choices(range(200), k=500)
    tree = JavaTreeSet[int](lambda value: value)
    for value in values:
        tree.add(value)
    assert list(tree) == sorted(set(values))


def test_an_element_that_is_there_is_found_wherever_it_is() -> None:
    tree = JavaTreeSet[int](lambda value: -value)
    for value in (*range(50), *range(50)):
        tree.add(value)
    assert list(tree) == list(range(49, -1, -1))


def test_the_shape_of_the_tree_decides_when_places_change() -> None:
    """Measured with java.util.TreeSet and a comparator of places in an array."""
    places = dict(zip("abcde", range(5), strict=True))
    tree = JavaTreeSet[str](lambda name: places[name])
    for name in "abcd":
        tree.add(name)
    places["b"] = 9  # the root, so that all that comes now is below it, to the left
    tree.add("e")
    assert list(tree) == ["a", "e", "b", "c", "d"]


def test_it_may_be_empty() -> None:
    assert not list(JavaTreeSet[str](str.lower))
