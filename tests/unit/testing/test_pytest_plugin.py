"""What a project gets that switches the plugin on, and what it is told when something is missing."""

import pytest

PLUGIN = "kafka_groups.testing.pytest_plugin"


@pytest.fixture(autouse=True)
def no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin needs no other one, and loading those takes longer than the projects' tests."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> pytest.Pytester:
    """A project with three tests, on a machine without Java, Maven and a container engine."""
    pytester.makeconftest(f"pytest_plugins = [{PLUGIN!r}]")
    pytester.makepyfile(
        """
        def test_embedded(embedded_cluster):
            assert embedded_cluster.bootstrap_servers.startswith("127.0.0.1:")

        def test_real(real_kafka):
            raise AssertionError("there is no real Kafka here")

        def test_container(kafka_container):
            raise AssertionError("there is no engine here")
        """
    )
    monkeypatch.setenv("PYTHONPATH", str(pytestconfig.rootpath))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("KAFKA_GROUPS_REQUIRE_REAL_KAFKA", raising=False)
    return pytester


def _run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest_subprocess("-rs", "--strict-markers", "-p", "no:cacheprovider", *options)


@pytest.mark.slow
def test_what_is_missing_is_skipped_with_its_reason(project: pytest.Pytester) -> None:
    result = _run(project)

    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines(["*java and mvn not found; a real Kafka needs Java 17 or later and Maven*"])
    result.stdout.fnmatch_lines(["*no container engine answers*"])


@pytest.mark.slow
def test_a_real_kafka_that_is_required_and_missing_is_a_failure(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_GROUPS_REQUIRE_REAL_KAFKA", "1")
    result = _run(project)

    result.assert_outcomes(passed=1, errors=1, skipped=1)
    result.stdout.fnmatch_lines(["*KAFKA_GROUPS_REQUIRE_REAL_KAFKA=1, but java and mvn not found*"])


@pytest.mark.slow
def test_the_markers_leave_tests_out(project: pytest.Pytester) -> None:
    result = _run(project, "-m", "not real_kafka and not container")

    result.assert_outcomes(passed=1, deselected=2)


@pytest.mark.slow
def test_tests_share_a_cluster_if_the_project_says_so(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(f"pytest_plugins = [{PLUGIN!r}]")
    pytester.makepyfile(
        """
        def test_first(embedded_cluster):
            embedded_cluster.create_topic("orders")

        def test_second(embedded_cluster):
            assert embedded_cluster.records("orders") == []
        """
    )
    alone = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    alone.assert_outcomes(passed=1, failed=1)
    shared = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-o", "embedded_cluster_scope=module")
    shared.assert_outcomes(passed=2)
    wrong = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-o", "embedded_cluster_scope=always")
    wrong.stderr.fnmatch_lines(["*embedded_cluster_scope = always: use one of function, class, *"])


def test_drivers_of_topologies_are_closed_at_the_end_of_a_test(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(f"pytest_plugins = [{PLUGIN!r}]")
    pytester.makepyfile(
        """
        from kafka_groups import serdes
        from kafka_groups.streams import Processor, Topology
        from kafka_groups.testing.topology_driver import TopologyTestDriver

        closed = []

        class Noted(Processor):
            def process(self, record):
                self.context.forward(record)

            def close(self):
                closed.append(self)

        def build():
            topology = Topology().add_source("read", "in", key=serdes.string, value=serdes.string)
            topology.add_processor("noted", factory=Noted, parents=["read"])
            return topology.add_sink("write", "out", parents=["noted"], key=serdes.string, value=serdes.string)

        def test_first(topology_driver):
            for driver in (topology_driver(build()), topology_driver(build(), partitions={"in": 2})):
                assert isinstance(driver, TopologyTestDriver)
                driver.input_topic("in", serdes.string, serdes.string).pipe("k", "v")
                assert driver.output_topic("out", serdes.string, serdes.string).read().value == "v"
            assert closed == []

        def test_second():
            assert len(closed) == 3
        """
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)


def test_drivers_of_workers_are_open_until_the_end_of_a_test(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(f"pytest_plugins = [{PLUGIN!r}]")
    pytester.makepyfile(
        """
        from contextlib import contextmanager

        from kafka_groups import Worker
        from kafka_groups.testing import Outcome, WorkerTestDriver

        events = []

        @contextmanager
        def connect():
            events.append("open")
            yield
            events.append("closed")

        worker = Worker("invoices", bootstrap_servers="localhost:9092", lifespan=connect)

        @worker.handler("orders")
        def invoice(order):
            events.append(order)

        def test_first(worker_driver):
            test = worker_driver(worker, delivery_limit=2)
            assert isinstance(test, WorkerTestDriver)
            assert test.deliver("orders", b"1").outcome is Outcome.ACCEPTED

        def test_second():
            assert events == ["open", b"1", "closed"]
        """
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)
