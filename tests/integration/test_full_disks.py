"""Stores on a disk that is really full: a small tmpfs of a process of its own."""

from pathlib import Path

import pytest

from tests.support.full_disk import SCENES, run_scene, why_no_disk


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES)
def test_a_full_disk_loses_nothing_and_ends_nothing(tmp_path: Path, scene: str) -> None:
    why = why_no_disk(tmp_path)
    if why is not None:
        pytest.skip(f"no small disk can be mounted here: {why}")
    done = run_scene(scene, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == [], "the disk was that of the process alone"
