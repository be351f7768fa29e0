"""The order of punctuations."""

from kafka_groups.streams.tasks.punctuation import Schedule, next_time


class Called:
    """Takes note of calls, by name and time."""

    def __init__(self) -> None:
        self.schedule = Schedule()
        self.calls: list[str] = []

    def add(self, name: str, interval_ms: int, first_ms: int) -> None:
        self.schedule.add(interval_ms, lambda now_ms: self.calls.append(f"{name}@{now_ms}"), first_ms)

    def run(self, now_ms: int) -> list[str]:
        self.calls.clear()
        assert self.schedule.run(now_ms) is bool(self.calls)
        return list(self.calls)


def test_what_is_longest_due_comes_first_and_once() -> None:
    called = Called()
    called.add("slow", 50, 40)
    called.add("quick", 10, 20)
    called.add("middle", 30, 30)
    assert called.run(19) == []
    assert called.run(45) == ["quick@45", "middle@45", "slow@45"]
    assert called.run(49) == []
    assert called.run(200) == ["quick@200", "middle@200", "slow@200"]


def test_what_is_scheduled_in_a_punctuation_is_called_in_the_same_pass_if_it_is_due() -> None:
    called = Called()

    def outer(now_ms: int) -> None:
        called.calls.append(f"outer@{now_ms}")
        if now_ms == 10:
            called.add("due", 100, 0)
            called.add("later", 100, 11)

    called.schedule.add(10, outer, 10)
    called.add("last", 10, 10)
    assert called.run(10) == ["outer@10", "due@10", "last@10"]
    assert called.run(11) == ["later@11"]


def test_cancelled_ones_are_not_called_and_are_forgotten() -> None:
    schedule, calls = Schedule(), list[int]()
    other = schedule.add(10, calls.append, 1)

    def once(now_ms: int) -> None:
        calls.append(-now_ms)
        own.cancel()
        other.cancel()

    own = schedule.add(10, once, 0)
    assert schedule.run(5)
    assert not schedule
    assert not schedule.run(100)
    assert calls == [-5]


def test_the_next_time_is_after_now() -> None:
    assert [next_time(5, 30, now_ms) for now_ms in (5, 34, 35, 36, 100)] == [35, 35, 65, 65, 125]
