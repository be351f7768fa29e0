"""Random scenes of handler workers pass, and find every defect that is planted into the rules."""

import pytest

from tests.unit.share.workers.rules.handling_defects import DEFECTS
from tests.unit.share.workers.rules.random_scenes import play_scene

CONTROL_SEEDS = 20
SEEDS = 400


def _breaks(seed: int) -> bool:
    try:
        play_scene(seed)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("seed", range(CONTROL_SEEDS))
def test_the_rules_hold(seed: int) -> None:
    play_scene(seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFECTS)
def test_planted_defects_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    DEFECTS[name](monkeypatch)
    assert any(map(_breaks, range(SEEDS))), f"no scene shows that {name.replace('_', ' ')}"
