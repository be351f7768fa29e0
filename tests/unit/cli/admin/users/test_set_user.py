from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_groups.cli.main import main

SET = ("set", "ann", "--mechanism", "SCRAM-SHA-256")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (SET, "Nobody can be asked for the password, as standard input is not a terminal. Give --password-file."),
        ((*SET, "--iterations", "100"), "100 is not in the range"),
        (("set", "ann", "--mechanism", "PLAIN", "--password-file", "-"), "'PLAIN'"),
        ((*SET, "--password-file", "empty"), "The first line is empty, but it is the password."),
        ((*SET, "--password", "secret"), "No such option"),
        (("remove", "ann", "--mechanism", "SCRAM-SHA-256"), "This cannot be undone"),
        (("remove", "ann", "--yes"), "Missing option '--mechanism'"),
    ],
)
def test_a_mistake_is_found_before_anything_is_sent(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").write_text("\nsecret\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["users", *arguments, "--bootstrap-servers", "127.0.0.1:1", "--timeout", "0.3"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in " ".join(done.stderr.split())
