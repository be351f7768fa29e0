from kafka_groups.broker.deadlines import Deadlines


def test_the_earliest_follows_what_is_set_moved_and_taken_away() -> None:
    deadlines: Deadlines[str] = Deadlines()
    assert deadlines.earliest_ms() is None
    deadlines.set("a", 30)
    deadlines.set("b", 20)
    assert deadlines.earliest_ms() == 20
    deadlines.set("b", 40)
    assert deadlines.earliest_ms() == 30
    deadlines.set("a", None)
    assert deadlines.earliest_ms() == 40
    deadlines.set("b", None)
    assert deadlines.earliest_ms() is None
    assert len(deadlines) == 0


def test_a_deadline_that_comes_back_counts_again() -> None:
    deadlines: Deadlines[str] = Deadlines()
    for deadline_ms in (10, 20, 10):
        deadlines.set("a", deadline_ms)
    assert deadlines.earliest_ms() == 10


def test_due_is_what_has_come_earliest_first() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("late", 31)
    deadlines.set("second", 30)
    deadlines.set("first", 10)
    assert deadlines.due(30) == ["first", "second"]
    assert len(deadlines) == 3
