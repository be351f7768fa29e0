"""Instances in Java (Kafka Streams 4.3.1) and in Python in one group: each continues the other's work.

They are swapped three times while records flow. Everything that one side leaves (stores, times of rows, committed
offsets with the times of partitions) is what the other side begins with.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.conditions import wait_until
from tests.support.kafka.java_word_count import SETTINGS
from tests.support.kafka.mixed_application import AT_LEAST_ONCE, EXACTLY_ONCE, Guarantee, MixedApplication
from tests.support.kafka.mixed_topologies import expected
from tests.support.members.confluent_reader import PATIENCE_S

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]

Make = Callable[..., MixedApplication]


@pytest.fixture(scope="module", params=["embedded", "real"])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    """A broker with short sessions."""
    if request.param == "embedded":
        with EmbeddedCluster(settings=SETTINGS) as cluster:
            yield cluster.bootstrap_servers
            assert cluster.unexpected_errors == ()
    else:
        settings = {name: str(value) for name, value in SETTINGS.items()}
        with KafkaProcess(request.getfixturevalue("real_kafka").version, settings) as kafka:
            yield kafka.bootstrap_servers


@pytest.fixture
def make(servers: str, tmp_path: Path) -> Iterator[Make]:
    """Make an application."""
    with ExitStack() as stack:

        def made(
            kind: str, guarantee: Guarantee = AT_LEAST_ONCE, *, on_disk: bool = False, standbys: int = 0
        ) -> MixedApplication:
            app = MixedApplication(kind, servers, tmp_path, guarantee, on_disk=on_disk)
            app.ask_for_standbys(standbys)
            stack.callback(app.end)
            return app

        yield made


def swap_three_times(app: MixedApplication, check_stores: bool = True) -> None:
    """Java, Python, Java, Python: both at the same time in between. Each has to have all results when it is alone."""
    app.write(40)
    app.start_java()
    app.wait_until_shared()
    for start, close, check in (
        (app.start_python, app.close_java, app.wait_for_python_store),
        (app.start_java, app.close_python, app.wait_for_java_store),
        (app.start_python, app.close_java, app.wait_for_python_store),
    ):
        with app.flow():
            start()
            app.wait_until_shared()
            close()
            app.wait_until_shared()
        if check_stores:
            check()
    app.wait_for_output()
    app.close_python()
    app.check_committed()


@pytest.mark.timeout(300)
def test_words(make: Make) -> None:
    app = make("words")
    swap_three_times(app)
    assert app.changelog() == expected("words", app.lines)


@pytest.mark.timeout(300)
def test_joins_whose_copartitioning_kafka_streams_forgets(make: Make) -> None:
    app = make("held")
    app.write(40)
    app.start_java()
    app.wait_until_shared()
    with app.flow():
        app.start_python()
        app.wait_until_shared()
        app.close_java()
        app.wait_until_shared()
    app.wait_for_output()
    app.close_python()


@pytest.mark.long
@pytest.mark.timeout(300)
def test_words_exactly_once(make: Make) -> None:
    app = make("words", EXACTLY_ONCE)
    swap_three_times(app)
    assert app.changelog() == expected("words", app.lines)


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("guarantee", [AT_LEAST_ONCE, EXACTLY_ONCE])
def test_each_side_continues_with_its_standbys_on_disk(
    make: Make, guarantee: Guarantee, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each instance has copies of the other's tasks; one in Python that starts again has its own files, too."""
    app = make("words", guarantee, on_disk=True, standbys=1)
    app.write(40)
    app.start_java()
    app.wait_until_shared()
    for close, start in ((app.close_java, app.start_java), (app.close_python, app.start_python)):
        with app.flow():
            if app.has_no_python:
                app.start_python()
            app.wait_until_shared()
            app.wait_until_each_has_a_standby()
            close()
            app.wait_until_shared()
            start()
            app.wait_until_shared()
    app.close_java()
    app.wait_until_shared()
    app.wait_for_python_store()
    app.wait_for_output()
    app.close_python()
    app.check_committed()
    assert app.changelog() == expected("words", app.lines)
    assert list(tmp_path.rglob("data.mdb"))
    assert "The store files of task" not in caplog.text  # as all of the warnings of wiped files begin


@pytest.mark.long
@pytest.mark.timeout(400)
@pytest.mark.parametrize("guarantee", [AT_LEAST_ONCE, EXACTLY_ONCE])
def test_each_side_continues_after_the_other_was_killed(make: Make, guarantee: Guarantee) -> None:
    """What was committed with the records is all that the other side has: nothing is handed over at the end."""
    app = make("words", guarantee)
    app.write(40)
    app.start_java()
    app.wait_until_shared()
    for start, kill in ((app.start_child, app.kill_java), (app.start_java, app.kill_child)):
        with app.flow():
            start()
            app.wait_until_shared()
            app.wait_for_commit()
            kill()
            app.wait_until_shared()
            app.wait_for_commit()
        # The highest times came first, so the one that is committed now was known to the side that is gone.
        wait_until(lambda: app.committed() == len(app.lines), PATIENCE_S)
        app.check_committed()
    app.close_java()
    app.wait_for_output()
    assert app.changelog() == expected("words", app.lines)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_windows(make: Make) -> None:
    app = make("windows")
    swap_three_times(app)
    assert app.changelog() == expected("windows", app.lines)


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("on_disk", [False, True], ids=["memory", "disk"])
def test_versions(make: Make, on_disk: bool) -> None:
    app = make("versions", on_disk=on_disk)
    app.write(40)
    app.start_java()
    app.wait_until_shared()
    for start, close in (
        (app.start_python, app.close_java),
        (app.start_java, app.close_python),
        (app.start_python, app.close_java),
    ):
        with app.flow():
            start()
            app.wait_until_shared()
            close()
            app.wait_until_shared()
    app.wait_for_output()
    # Whichever side put them: out of order, and restored by the other one.
    app.wait_for_versions()
    app.close_python()
    app.check_committed()


@pytest.mark.long
@pytest.mark.timeout(300)
def test_sessions(make: Make) -> None:
    app = make("sessions")
    swap_three_times(app)
    assert {key: result.value for key, result in app.changelog().items()} == app.values()


@pytest.mark.long
@pytest.mark.timeout(300)
def test_join_of_streams(make: Make) -> None:
    app = make("join")
    swap_three_times(app, check_stores=False)
    assert app.joined_lines() == {(word, line.id) for line in app.lines for word in line.text.split()}
