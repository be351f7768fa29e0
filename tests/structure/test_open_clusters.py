"""No embedded cluster outlives the tests of its module.

Tests of other modules put clocks and defects of their own into the package's classes, for the whole process.
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


def test_a_test_is_told_that_its_cluster_outlives_the_module(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(f"from tests.conftest import pytest_runtest_teardown\n{_CLUSTERS_OF_THE_SESSION}")
    pytester.makepyfile(test_one=_TEST, test_two=_TEST)

    ended = pytester.runpytest_inprocess("-p", "no:asyncio")

    ended.assert_outcomes(passed=2, errors=1)
    ended.stdout.fnmatch_lines(["*embedded clusters outlive the tests of test_one.py*"])
