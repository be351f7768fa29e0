"""Every test of tests/unit stands where the module or folder that it tests stands in the package."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import kafka_groups

PACKAGE = Path(kafka_groups.__file__).parent
UNIT = Path(__file__).parents[1] / "unit"
TESTS = sorted(path.relative_to(UNIT) for path in UNIT.rglob("test_*.py"))


def places_of(test: Path) -> Iterator[Path]:
    """The places in the package that a test may be about: `a/test_b_c.py` is about `a/b_c` or about `a/b`."""
    words = test.stem.removeprefix("test_").split("_")
    for count in range(len(words), 0, -1):
        yield PACKAGE / test.parent / "_".join(words[:count])


def exists(place: Path) -> bool:
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


@pytest.mark.parametrize("test", TESTS, ids=str)
def test_a_unit_test_mirrors_the_package(test: Path) -> None:
    assert any(map(exists, places_of(test))), f"tests/unit/{test} is named after no module or folder of kafka_groups"


def test_a_test_that_mirrors_nothing_is_found() -> None:
    assert not any(map(exists, places_of(Path("broker/test_nothing_of_that_name.py"))))
    assert any(map(exists, places_of(Path("broker/test_api_topics.py"))))
