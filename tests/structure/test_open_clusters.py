"""No embedded cluster outlives the tests of its folder.

Tests elsewhere put clocks and defects of their own into the package's classes, for the whole process.
"""

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from tests.support.open_clusters import open_clusters

_CLUSTERS_OF_THE_SESSION = """
import pytest
from kafka_groups.broker.cluster import EmbeddedCluster

@pytest.fixture(scope="session")
def cluster():
    with EmbeddedCluster() as cluster:
        yield cluster
"""
_TEST = "def test_something(cluster): pass"


def test_clusters_are_found_while_they_run() -> None:
    with EmbeddedCluster():
        assert len(open_clusters()) == 1

    assert open_clusters() == []


def test_a_test_is_told_that_its_cluster_outlives_the_folder(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(f"from tests.conftest import pytest_runtest_teardown\n{_CLUSTERS_OF_THE_SESSION}")
    for name in ("one/test_first", "one/test_last", "two/test_other"):
        file = pytester.path / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(_TEST, encoding="utf-8")

    ended = pytester.runpytest_inprocess("-p", "no:asyncio")

    ended.assert_outcomes(passed=3, errors=1)
    ended.stdout.fnmatch_lines(["*ERROR at teardown of test_something*", "*clusters outlive the tests of one:*"])
