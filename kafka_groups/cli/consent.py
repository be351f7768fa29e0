"""The question before something that cannot be undone."""

import functools
import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click
from attrs import frozen

__all__ = ["DRY_RUN", "Consent", "consent_options", "dry_run_option", "is_terminal"]

F = TypeVar("F", bound=Callable[..., Any])

DRY_RUN: Final = "Dry run: nothing is changed."


def is_terminal() -> bool:
    """Return whether somebody can be asked."""
    return sys.stdin.isatty()


@frozen
class Consent:
    """The options with which a user agrees.

    Attributes:
        is_given: Whether the user agrees without a question.
        is_dry_run: Whether nothing is done.
    """

    is_given: bool
    is_dry_run: bool

    def check(self) -> None:
        """Check the options, before anything is sent.

        Raises:
            click.UsageError: They contradict each other, or nobody can be asked.
        """
        if self.is_given and self.is_dry_run:
            raise click.UsageError("Give either --yes or --dry-run.")
        if not (self.is_given or self.is_dry_run or is_terminal()):
            raise click.UsageError(
                "This cannot be undone, and nobody can be asked, as standard input is not a terminal. Give --yes to do "
                "it, or --dry-run to see what would be done."
            )

    def ask(self, question: str) -> None:
        """Ask the user, on standard error, unless the consent is given. `check` it before.

        Raises:
            click.Abort: The user does not agree.
        """
        if not self.is_given:
            click.confirm(question, abort=True, err=True)


def _say_so(context: click.Context, _option: click.Parameter, is_dry_run: bool) -> bool:  # noqa: FBT001 - click's
    # What is printed afterwards reads as if it were done.
    if is_dry_run and not context.resilient_parsing:
        click.echo(DRY_RUN, err=True)
    return is_dry_run


dry_run_option: Final = click.option(
    "--dry-run", is_flag=True, callback=_say_so, help="Show what would be done, and do nothing."
)
"""The option of changes that can be undone, and need no consent. The command gets `dry_run`."""


def consent_options(command: F) -> F:
    """Add `--yes` and `--dry-run` to a command, which gets a `Consent` for `consent`."""

    @functools.wraps(command)
    def run(*, yes: bool, dry_run: bool, **given: Any) -> Any:
        return command(consent=Consent(yes, dry_run), **given)

    made: Any = click.option("--yes", is_flag=True, help="Do it without a question.")(dry_run_option(run))
    result: F = made
    return result
