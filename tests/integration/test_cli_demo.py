"""The demo as users run it: in processes of its own, with a worker killed."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_groups.testing.kafka_process import KafkaProcess

COMMAND = [sys.executable, "-W", "error", "-m", "kafka_groups.cli", "demo"]
FLIGHTS = 60_000


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=110, check=False)


def tally(output: str) -> dict[str, int]:
    rows = re.findall(r"(published|delivered|accepted|redelivered|lost)\s+│\s+([\d,]+)", output)
    return {name: int(number.replace(",", "")) for name, number in rows}


def check(done: "subprocess.CompletedProcess[str]", flights: int) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    counts = tally(done.stdout)
    assert (counts["published"], counts["accepted"], counts["lost"]) == (flights, flights, 0)
    assert counts["redelivered"] > 0
    assert counts["delivered"] > flights
    assert "killed with SIGKILL while it held" in done.stdout
    assert "Every flight is accounted for" in done.stdout
    assert done.stderr == ""


def processes_that_mention(text: str) -> list[str]:
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            commands.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended
    return [command for command in commands if text in command]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["explicit", "implicit"])
def test_no_flight_is_lost_when_a_worker_is_killed(mode: str) -> None:
    check(run("--mode", mode, "--flights", str(FLIGHTS), "--timeout", "90"), FLIGHTS)


@pytest.mark.slow
def test_all_flights() -> None:
    check(run("--timeout", "90"), 336_776)


@pytest.mark.slow
def test_the_same_on_a_real_kafka(real_kafka: KafkaProcess) -> None:
    check(run("--bootstrap-servers", real_kafka.bootstrap_servers, "--flights", str(FLIGHTS)), FLIGHTS)


@pytest.mark.slow
def test_interrupt_leaves_nothing_behind() -> None:
    demo = subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    first, second = demo.stdout.readline(), demo.stdout.readline()
    (servers,) = re.findall(r"embedded broker at (\S+)", first)
    assert "8 workers in share group" in second
    demo.send_signal(signal.SIGINT)
    output, errors = demo.communicate(timeout=60)
    assert demo.returncode == 130, errors
    assert output.splitlines()[-1] == "Interrupted; broker and workers are stopped."
    assert processes_that_mention(servers) == []


def test_kafka_that_is_not_there_is_explained() -> None:
    done = run("--bootstrap-servers", "127.0.0.1:1", "--timeout", "5")
    assert done.returncode == 1
    assert "The run failed" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
