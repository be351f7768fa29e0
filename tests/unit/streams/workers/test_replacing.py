"""When a worker that died is replaced."""

from kafka_groups.streams.workers.replacing import Replacements


def test_the_wait_doubles_until_the_worker_is_given_up() -> None:
    replacements = Replacements()
    assert [replacements.died(at) for at in range(6)] == [200, 401, 802, 1603, 3204, None]


def test_deaths_are_forgotten_after_ten_minutes() -> None:
    replacements = Replacements()
    for at in range(5):
        replacements.died(at)
    assert replacements.died(700_000) == 700_200
