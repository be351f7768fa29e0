"""Every example runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.spark.sessions import reason_to_skip

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NAMES = (
    "asgi_service.py",  # in test_example_asgi_service.py
    "flights.py",
    "flights_topology.py",
    "fraud.py",
    "spark_pipeline.py",
    "streams_flights.py",
    "streams_member_flights.py",
    "word_count.py",
)
NOISE = r"%\d\|"  # librdkafka remarks on retries


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(NAMES)


def run_with_flights(name: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return run(name, "--flights", "20000", *arguments)


def run(name: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, timeout=280, check=False, env=environment)


@pytest.mark.slow
def test_flights() -> None:
    done = run_with_flights("flights.py")
    said = [line for line in done.stderr.splitlines() if not re.match(NOISE, line)]
    assert (done.returncode, said) == (0, []), done.stdout
    assert done.stdout.splitlines()[-1] == "The share group's result equals the plain computation."


@pytest.mark.slow
def test_flights_topology() -> None:
    done = run_with_flights("flights_topology.py")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.splitlines()[-1] == "The topology's results equal those of the plain computation."


@pytest.mark.slow
def test_streams_flights() -> None:
    done = run_with_flights("streams_flights.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "equal those of pandas, and each delay has one result." in done.stdout


def check_streams_member_flights(*arguments: str) -> None:
    done = run_with_flights("streams_member_flights.py", *arguments)
    said = [line for line in done.stderr.splitlines() if not re.match(NOISE, line)]
    assert (done.returncode, said) == (0, []), done.stdout
    assert done.stdout.splitlines()[-1] == "The streams group's result equals the plain computation."


@pytest.mark.slow
def test_streams_member_flights() -> None:
    check_streams_member_flights()


@pytest.mark.long
def test_streams_member_flights_on_a_real_kafka(real_kafka: KafkaProcess) -> None:
    check_streams_member_flights("--bootstrap-servers", real_kafka.bootstrap_servers)


APPLICATIONS = [
    (("word_count.py", "--lines", "3000"), "The application's counts equal those of the plain computation."),
    (("fraud.py", "--payments", "3000"), "The application's alerts equal those of the plain computation."),
]


def check_application(*arguments: str, says: str) -> None:
    done = run(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == says


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "says"), APPLICATIONS)
def test_applications(arguments: tuple[str, ...], says: str) -> None:
    check_application(*arguments, says=says)


@pytest.mark.slow
@pytest.mark.real_kafka
@pytest.mark.parametrize(("arguments", "says"), APPLICATIONS)
def test_applications_on_a_real_kafka(real_kafka: KafkaProcess, arguments: tuple[str, ...], says: str) -> None:
    check_application(*arguments, "--bootstrap-servers", real_kafka.bootstrap_servers, says=says)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(300)
def test_spark_pipeline() -> None:
    if reason := reason_to_skip():
        pytest.skip(reason)
    done = run_with_flights("spark_pipeline.py")
    assert done.returncode == 0, done.stderr
    totals = re.findall(r"^ *total +\d+ +(\d+) +(\d+) ", done.stdout, re.MULTILINE)  # of each micro-batch
    assert sum(int(accepted) for _, accepted in totals) == 20_000
    assert done.stdout.splitlines()[-1] == "The share group's result equals the plain computation."
