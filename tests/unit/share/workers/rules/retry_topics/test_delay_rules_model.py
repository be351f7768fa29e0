"""Random scenes of waiting in retry topics pass, and find every defect that is planted into the rules."""

import pytest

from tests.unit.share.workers.rules.retry_topics.waiting_defects import WAITING_DEFECTS
from tests.unit.share.workers.rules.retry_topics.waiting_scenes import play_waiting_scene

CONTROL_SEEDS = 20
SEEDS = 300


def _breaks(seed: int) -> bool:
    try:
        play_waiting_scene(seed)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("seed", range(CONTROL_SEEDS))
def test_no_record_is_lost_early_or_run_twice(seed: int) -> None:
    play_waiting_scene(seed)


@pytest.mark.slow
def test_the_scenes_show_what_they_are_about() -> None:
    worlds = [play_waiting_scene(seed) for seed in range(CONTROL_SEEDS, 100)]
    assert sum(world.forwarded for world in worlds) > 100
    assert max(world.highest_count for world in worlds) == 5
    assert any(world.may_repeat and max(world.started.values()) > 1 for world in worlds)


@pytest.mark.slow
@pytest.mark.parametrize("name", WAITING_DEFECTS)
def test_a_planted_defect_of_waiting_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    WAITING_DEFECTS[name](monkeypatch)
    assert any(map(_breaks, range(SEEDS))), f"no scene shows that {name.replace('_', ' ')}"
