"""The rate of events in the last ten seconds."""

from kafka_groups.share.workers.running.observation.recent_rate import RecentRate


def test_the_rate_is_that_of_the_last_ten_seconds() -> None:
    rate = RecentRate()
    found = []
    for second in range(31):
        found.append(rate.look(1_000 * second))
        rate.add(10 if second < 10 else 0)
    assert found[0] == 0.0
    assert found[1:11] == [10.0] * 10
    assert found[15] == 5.0
    assert found[20:] == [0.0] * 11


def test_many_looks_keep_few_samples() -> None:
    rate = RecentRate()
    for at_ms in range(0, 20_001, 5):
        rate.add(1)
        found = rate.look(at_ms)
    assert 195 < found < 205
    assert len(rate._looks) < 110


def test_a_look_long_after_the_last_counts_all_of_the_time() -> None:
    rate = RecentRate()
    rate.look(0)
    rate.add(100)
    assert rate.look(50_000) == 2.0
    assert rate.look(60_000) == 0.0
