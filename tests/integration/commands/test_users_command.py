"""`kafka-groups users`: passwords from their setting to their removal."""

from pathlib import Path

from kafka_groups.cli.consent import DRY_RUN
from tests.support.commands import Commands
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique


def test_a_password_is_set_listed_and_removed(run: Commands, tmp_path: Path) -> None:
    user, secret = unique("ann"), tmp_path / "password"
    secret.write_text("a secret\nand more\n", encoding="utf-8")
    password = ("--password-file", str(secret))
    done = run.lines("users", "set", user, "--mechanism", "scram-sha-256", *password)
    assert [line.split() for line in done] == [["USER", "MECHANISM", "ITERATIONS"], [user, "SCRAM-SHA-256", "4096"]]
    run.lines("users", "set", user, "--mechanism", "SCRAM-SHA-512", "--iterations", "5000", *password, "--quiet")
    wait_until(lambda: len(run.lines("users", "list", user)) == 3)
    assert run.document("users", "list", user)["items"] == [
        {"user": user, "mechanism": "SCRAM-SHA-256", "iterations": 4096},
        {"user": user, "mechanism": "SCRAM-SHA-512", "iterations": 5000},
    ]
    assert user in run.lines("users", "list", "--quiet")
    assert run.lines("users", "list", user, "--quiet") == [user]
    planned = run.document("users", "remove", user, "--mechanism", "SCRAM-SHA-512", "--dry-run")
    assert planned["items"] == [{"user": user, "mechanism": "SCRAM-SHA-512"}]
    assert run.document("users", "remove", user, "--mechanism", "SCRAM-SHA-512", "--yes") == planned
    wait_until(lambda: len(run.lines("users", "list", user)) == 2)
    missing = run("users", "remove", user, "--mechanism", "SCRAM-SHA-512", "--dry-run")
    assert (missing.exit_code, missing.stderr) == (
        1,
        f"{DRY_RUN}\n{user}: The user has no password for SCRAM-SHA-512.\n",
    )
    refused = run("users", "remove", user, "--mechanism", "SCRAM-SHA-512", "--yes")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "RESOURCE_NOT_FOUND" in refused.stderr
    run.lines("users", "remove", user, "--mechanism", "SCRAM-SHA-256", "--yes")
    wait_until(lambda: run("users", "list", user).exit_code == 1)
    assert run("users", "list", user).stderr.startswith(f"{user}: ")


def test_a_password_can_stand_on_standard_input(run: Commands) -> None:
    user = unique("ann")
    done = run("users", "set", user, "--mechanism", "SCRAM-SHA-256", "--password-file", "-", answer="from a pipe\n")
    assert (done.exit_code, done.stderr) == (0, "")
    run.lines("users", "remove", user, "--mechanism", "SCRAM-SHA-256", "--yes")
