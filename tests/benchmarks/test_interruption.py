"""A benchmark that is ended leaves no process behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.benchmarks.guard.checkouts import ROOT
from tests.benchmarks.interruption import ending_at_sigterm
from tests.support.conditions import wait_until

GONE_S = 10.0


def test_sigterm_leaves_the_block_and_is_what_it_was_afterwards() -> None:
    left: list[str] = []

    def interrupted() -> None:
        with ending_at_sigterm():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                raise AssertionError("the signal was ignored")
            finally:
                os.kill(os.getpid(), signal.SIGTERM)  # the second one
                left.append("ended")

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as raised:
        interrupted()
    assert raised.value.code == 128 + signal.SIGTERM
    assert left == ["ended"]
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_applications_end_with_the_benchmark_that_has_started_them(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.benchmarks", "applications", "--client=ours", "--target=embedded"]
    command += ["--part=idle", "--seconds=600"]
    with subprocess.Popen(command, cwd=ROOT, env=os.environ | {"TMPDIR": str(tmp_path)}) as process:
        benchmark = psutil.Process(process.pid)
        wait_until(lambda: any(map(_is_application, benchmark.children(recursive=True))), 60)
        started = benchmark.children(recursive=True)
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    _, alive = psutil.wait_procs(started, GONE_S)
    for each in alive:
        each.kill()
    assert not alive
    assert list(tmp_path.iterdir()) == []


def _is_application(process: psutil.Process) -> bool:
    try:
        return "tests.benchmarks.applications.our_program" in process.cmdline()
    except psutil.NoSuchProcess:
        return False
