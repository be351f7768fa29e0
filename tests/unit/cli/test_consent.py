import click
import pytest
from click.testing import CliRunner, Result

from kafka_groups.cli.consent import DRY_RUN, Consent, consent_options


@click.command()
@consent_options
def command(consent: Consent) -> None:
    consent.check()
    if consent.is_dry_run:
        click.echo("would delete")
        return
    consent.ask("Delete 3 records?")
    click.echo("deleted")


def run(*options: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(command, options, input=typed)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is a terminal."""
    monkeypatch.setattr("kafka_groups.cli.consent.is_terminal", lambda: True)


def test_without_a_terminal_consent_is_an_option() -> None:
    refused = run()
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "Give --yes to do it, or --dry-run to see what would be done." in refused.stderr
    assert run("--yes").stdout == "deleted\n"
    planned = run("--dry-run")
    assert (planned.stdout, planned.stderr) == ("would delete\n", f"{DRY_RUN}\n")
    assert run("--yes", "--dry-run").exit_code == 2


@pytest.mark.usefixtures("terminal")
def test_on_a_terminal_it_asks_on_standard_error() -> None:
    agreed = run(typed="y\n")
    assert (agreed.exit_code, agreed.stdout) == (0, "deleted\n")
    assert agreed.stderr.startswith("Delete 3 records? [y/N]: ")
    declined = run(typed="\n")
    assert (declined.exit_code, declined.stdout) == (1, "")
    assert run("--yes").stderr == ""
