import pickle
import random

import pytest

from kafka_groups.telemetry.histograms import Histogram, HistogramValue


def test_values_are_counted_by_size_in_any_order() -> None:
    histogram = Histogram((0.1, 1.0))
    for value in (5.0, 0.05, 0.5, 0.6):
        histogram.add(value)
    assert histogram.value.counts == (1, 2, 1)
    assert histogram.value.total == pytest.approx(6.15)


def test_a_bound_belongs_to_its_bucket() -> None:
    histogram = Histogram((0.1, 1.0))
    histogram.add(0.1)
    histogram.add(1.0)
    assert histogram.value.counts == (1, 1, 0)


def test_equal_values_add_up_and_none_change_nothing() -> None:
    histogram = Histogram((1.0,))
    for value, count in ((0.5, 1), (7.0, 0), (2.5, 2)):
        histogram.add(value, count)
    assert histogram.value == HistogramValue((1, 2), 5.5)


def test_equal_values_are_counted_as_one_by_one() -> None:
    rng = random.Random(7)
    one_by_one, at_once = Histogram((0.1, 0.5, 1.0)), Histogram((0.1, 0.5, 1.0))
    for _ in range(200):
        value, count = rng.choice((0.1, 1.0, rng.uniform(0, 2))), rng.randrange(4)
        for _ in range(count):
            one_by_one.add(value)
        at_once.add(value, count)
    assert at_once.value.counts == one_by_one.value.counts
    assert at_once.value.total == pytest.approx(one_by_one.value.total)
    assert all(at_once.value.counts)


def test_a_value_can_be_sent_to_another_process() -> None:
    value = HistogramValue((1, 2), 5.5)
    assert pickle.loads(pickle.dumps(value)) == value


def test_values_with_other_bounds_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        HistogramValue((1, 2), 1.0).plus(HistogramValue((1,), 1.0))
