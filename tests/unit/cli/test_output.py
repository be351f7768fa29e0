import os
import subprocess
import sys

PROGRAM = """
import sys
from kafka_groups.cli.output import say
sys.stdin.readline()
say("a")
print("unreachable", file=sys.stderr)
"""


def test_a_closed_pipe_ends_the_command_silently_with_status_0() -> None:
    reader, writer = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=writer, stderr=subprocess.PIPE, text=True
    ) as process:
        os.close(writer)
        os.close(reader)
        _, errors = process.communicate("\n")
    assert (process.returncode, errors) == (0, "")
