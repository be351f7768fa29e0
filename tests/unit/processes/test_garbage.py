import gc
from collections.abc import Iterator

import pytest

from kafka_groups.processes.garbage import fewer_collections

USUAL = (700, 10, 10)


@pytest.fixture(autouse=True)
def thresholds_of_before() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*USUAL)
    yield
    gc.set_threshold(*before)


def test_collections_are_rare_until_the_last_application_ends() -> None:
    with fewer_collections(50_000):
        with fewer_collections(50_000):
            assert gc.get_threshold() == (50_000, 10, 10)
        assert gc.get_threshold() == (50_000, 10, 10)
    assert gc.get_threshold() == USUAL


@pytest.mark.parametrize("chosen", [(0, 10, 10), (100_000, 5, 5)])
def test_what_the_program_has_chosen_stays(chosen: tuple[int, int, int]) -> None:
    gc.set_threshold(*chosen)
    with fewer_collections(50_000):
        assert gc.get_threshold() == chosen
    assert gc.get_threshold() == chosen


def test_what_the_program_chooses_meanwhile_stays() -> None:
    with fewer_collections(50_000):
        gc.set_threshold(5_000, 10, 10)
    assert gc.get_threshold() == (5_000, 10, 10)


def test_an_error_restores_it_too() -> None:
    with pytest.raises(KeyError), fewer_collections(50_000):
        raise KeyError
    assert gc.get_threshold() == USUAL
