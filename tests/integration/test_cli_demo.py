"""The demo as users run it: in processes of its own, with a worker killed, and with Spark the whole query too."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.spark.sessions import ROOT, reason_to_skip

COMMAND = [sys.executable, "-W", "error", "-m", "kafka_groups.cli", "demo"]
FLIGHTS = 60_000
FLIGHTS_WITH_SPARK = 20_000
REFERENCE = 16 + 1_458 + 26_115


@pytest.fixture
def directory() -> Iterator[Path]:
    """Where the demo may leave something, and must not; its name is short, as there is to be a socket in it."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def environment(directory: Path) -> dict[str, str]:
    return os.environ | {"TMPDIR": str(directory), "PYTHONPATH": str(ROOT)}


def run(directory: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    env = environment(directory) | variables
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=580, check=False, env=env)


def tally(output: str) -> dict[str, int]:
    rows = re.findall(r"│ ([a-z ]+?) +│ +([\d,]+) │", output)
    return {name: int(number.replace(",", "")) for name, number in rows}


def check_plain(done: "subprocess.CompletedProcess[str]", flights: int) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    counts = tally(done.stdout)
    assert (counts["published"], counts["accepted"], counts["lost"]) == (flights, flights, 0)
    assert counts["redelivered"] > 0
    assert counts["delivered"] > flights
    assert "killed with SIGKILL while it held" in done.stdout
    assert "Every flight is accounted for" in done.stdout
    assert done.stderr == ""


def check_pipeline(done: "subprocess.CompletedProcess[str]", flights: int) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    counts = tally(done.stdout)
    assert (counts["published"], counts["lost"]) == (flights + REFERENCE, 0)
    killed = [
        int(held.replace(",", "")) for held in re.findall(r"SIGKILL.* while .* held ([\d,]+) flights", done.stdout)
    ]
    assert [counts["held by the killed worker"], counts["held by a worker of the killed query"]] == killed
    assert min(killed) > 0
    assert counts["redelivered"] >= sum(killed)
    assert counts["duplicates among them"] == counts["duplicates removed"] >= sum(killed)
    assert counts["rows of flights written"] == flights + counts["duplicates removed"]
    assert f"{flights:,} enriched flights and the delays over them equal the plain computation" in done.stdout
    assert done.stderr == ""


def check_nothing_is_left(directory: Path) -> None:
    """No process that the demo started runs, and no file is there."""
    assert processes_with(f"TMPDIR={directory}") == []
    assert list(directory.iterdir()) == []


def processes_with(text: str) -> list[str]:
    """The commands of the processes whose command or environment has the text."""
    commands = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command, variables = ((path / name).read_bytes() for name in ("cmdline", "environ"))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # it has just ended, or is somebody else's
        if text.encode() in command.replace(b"\0", b" ") + variables:
            commands.append(command.replace(b"\0", b" ").decode(errors="replace"))
    return commands


# ------------------------------------------------------------------------------------------------- with Spark


@pytest.fixture
def needs_spark() -> None:
    if reason := reason_to_skip():
        pytest.skip(reason)


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("needs_spark")
def test_pipeline_loses_nothing_when_a_worker_and_the_query_are_killed(directory: Path) -> None:
    check_pipeline(run(directory, "--flights", str(FLIGHTS_WITH_SPARK), "--timeout", "500"), FLIGHTS_WITH_SPARK)
    check_nothing_is_left(directory)


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("needs_spark")
def test_pipeline_with_all_flights(directory: Path) -> None:
    check_pipeline(run(directory, "--timeout", "500"), 336_776)


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("needs_spark")
def test_pipeline_on_a_real_kafka(directory: Path, real_kafka: KafkaProcess) -> None:
    servers = real_kafka.bootstrap_servers
    done = run(directory, "--bootstrap-servers", servers, "--flights", str(FLIGHTS_WITH_SPARK), "--timeout", "500")
    check_pipeline(done, FLIGHTS_WITH_SPARK)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("needs_spark")
@pytest.mark.parametrize("when", ["Started the driver", "stage reference", "SIGKILL"])
def test_interrupted_pipeline_leaves_nothing_behind(directory: Path, when: str) -> None:
    command = [*COMMAND, "--flights", str(FLIGHTS_WITH_SPARK)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(directory)
    ) as demo:
        assert demo.stdout is not None
        lines = iter(demo.stdout.readline, "")
        assert any(when in line for line in lines)
        demo.send_signal(signal.SIGINT)
        output, errors = demo.communicate(timeout=60)
    assert demo.returncode == 130, errors
    assert output.splitlines()[-1] == "Interrupted. The broker and the workers have stopped."
    assert errors == ""
    check_nothing_is_left(directory)


def test_missing_java_is_said_first(directory: Path) -> None:
    done = run(directory, JAVA_HOME=str(directory / "nowhere"))
    assert done.returncode == 1
    (line,) = done.stdout.splitlines()
    assert line.startswith("The run failed: Spark needs Java 17 or newer, but no Java was found. Install it with")
    assert done.stderr == ""
    check_nothing_is_left(directory)


@pytest.mark.parametrize(
    ("arguments", "said"), [(["--mode", "implicit"], "--no-spark"), (["--flights", "500"], "at least 10,000")]
)
def test_options_that_do_not_go_together(directory: Path, arguments: list[str], said: str) -> None:
    done = run(directory, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("version", ["--no-spark", pytest.param("--spark", marks=pytest.mark.slow)])
def test_kafka_that_is_not_there_is_explained(directory: Path, version: str) -> None:
    if version == "--spark" and (reason := reason_to_skip()):
        pytest.skip(reason)
    done = run(directory, version, "--bootstrap-servers", "127.0.0.1:1", "--timeout", "5")
    assert done.returncode == 1
    assert "The run failed" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


# ---------------------------------------------------------------------------------------------- without Spark


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["explicit", pytest.param("implicit", marks=pytest.mark.long)])
def test_no_flight_is_lost_when_a_worker_is_killed(directory: Path, mode: str) -> None:
    done = run(directory, "--no-spark", "--mode", mode, "--flights", str(FLIGHTS), "--timeout", "90")
    check_plain(done, FLIGHTS)


@pytest.mark.long
def test_all_flights(directory: Path) -> None:
    check_plain(run(directory, "--no-spark", "--timeout", "90"), 336_776)


@pytest.mark.slow
def test_the_same_on_a_real_kafka(directory: Path, real_kafka: KafkaProcess) -> None:
    servers = real_kafka.bootstrap_servers
    check_plain(run(directory, "--no-spark", "--bootstrap-servers", servers, "--flights", str(FLIGHTS)), FLIGHTS)


@pytest.mark.slow
def test_interrupt_leaves_nothing_behind(directory: Path) -> None:
    command = [*COMMAND, "--no-spark"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(directory)
    ) as demo:
        assert demo.stdout is not None
        first, second = demo.stdout.readline(), demo.stdout.readline()
        assert "embedded broker at " in first
        assert "8 workers in share group" in second
        demo.send_signal(signal.SIGINT)
        output, errors = demo.communicate(timeout=60)
    assert demo.returncode == 130, errors
    assert output.splitlines()[-1] == "Interrupted. The broker and the workers have stopped."
    check_nothing_is_left(directory)
