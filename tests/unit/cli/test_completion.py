"""Completion in shells: the scripts, and what they ask the command."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_groups.cli.main import main

COMMAND = Path(sys.executable).with_name("kafka-groups")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(shell: str) -> None:
    done = CliRunner().invoke(main, ["completion", shell])
    assert done.exit_code == 0
    assert f"_KAFKA_GROUPS_COMPLETE={shell}_complete" in done.stdout


def test_another_shell_is_refused() -> None:
    done = CliRunner().invoke(main, ["completion", "csh"])
    assert done.exit_code == 2
    assert "'csh' is not one of 'bash', 'zsh', 'fish'" in done.stderr


def completed(line: str) -> list[str]:
    """What bash offers at the end of a line, having read the script as users do."""
    words = line.split(" ")
    script = (
        'eval "$(kafka-groups completion bash)"; '
        f"COMP_WORDS=({' '.join(map(repr, words))}); COMP_CWORD={len(words) - 1}; "
        '_kafka_groups_completion kafka-groups; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("kafka-groups gr", ["groups"]),
        ("kafka-groups streams offsets re", ["reset"]),
        ("kafka-groups groups list --sta", ["--state"]),
        ("kafka-groups groups list --state st", ["Stable"]),
    ],
)
def test_bash_completes_commands_options_and_values(line: str, offered: list[str]) -> None:
    assert completed(line) == offered
