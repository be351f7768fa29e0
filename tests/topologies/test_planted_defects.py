"""The golden files find defects that are planted on purpose."""

from collections.abc import Iterator

import pytest

from tests.support.planted_defects import Plant
from tests.topologies.allowed import NOT_COMPARED, without_real_times
from tests.topologies.catalogue import TWINS
from tests.topologies.golden import golden_names, read_golden
from tests.topologies.planted import DEFECTS
from tests.topologies.twin_runs import differences, run_twin


def topologies_that_differ() -> Iterator[str]:
    for name in golden_names():
        golden = read_golden(name)
        if golden.description is None:
            continue
        if TWINS[name].build().describe() != golden.description.text:
            yield name
        for is_cached, java in ((False, golden.uncached), (True, golden.cached)):
            if java is None or (name, is_cached) in NOT_COMPARED:
                continue
            run = run_twin(TWINS[name], golden.script, is_cached=is_cached)
            if differences(java, without_real_times(name, run)):
                yield name


@pytest.mark.slow
@pytest.mark.parametrize("plant", DEFECTS.values(), ids=DEFECTS)
def test_a_planted_defect_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert next(topologies_that_differ(), None) is not None
