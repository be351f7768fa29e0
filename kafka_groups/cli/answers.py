"""Answers of commands: a table, a JSON document or names, errors, and the exit status."""

import enum
import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click
from attrs import define, field, frozen

from kafka_groups.cli.documents.document import document_text
from kafka_groups.cli.output import say
from kafka_groups.cli.problems import CommandProblem, problem_of
from kafka_groups.cli.text_tables import table_lines, terminal_width
from kafka_groups.errors import ConfigurationError, KafkaGroupsError

if TYPE_CHECKING:
    from kafka_groups.client.calls.results import Results

__all__ = ["AnswerForm", "AnswerTable", "CommandAnswer", "answer_options"]

E = TypeVar("E")
K = TypeVar("K")
V = TypeVar("V")
F = TypeVar("F", bound=Callable[..., Any])

_FAILED = 1


class AnswerForm(enum.Enum):
    """The form of an answer."""

    TABLE = "table"
    JSON = "json"
    NAMES = "names"


@frozen
class AnswerTable(Generic[E]):
    """An answer as a table.

    Attributes:
        headings: The headings of the columns.
        row: Returns the cells of an item.
        numbers: The headings of columns with numbers.
    """

    headings: Sequence[str]
    row: Callable[[E], Sequence[str]]
    numbers: Iterable[str] = ()

    def lines(self, items: Iterable[E]) -> Iterator[str]:
        """Return the lines of the table; none without items. On a terminal, they are cut at its width."""
        rows = list(map(self.row, items))
        if not rows:
            return iter(())
        return table_lines(self.headings, rows, numbers=self.numbers, width=terminal_width())


@define
class CommandAnswer(Generic[E]):
    """The answer of a command, until it is printed.

    Attributes:
        form: The form.
        items: The items, which are objects of one class of documents.
        problems: The errors. Each was printed on standard error when it was added.
    """

    form: AnswerForm
    items: list[E] = field(factory=list)
    problems: list[CommandProblem] = field(factory=list)

    def fail(self, problem: CommandProblem) -> None:
        """Add an error, and print it on standard error."""
        self.problems.append(problem)
        click.echo(problem.line, err=True)

    @contextmanager
    def failing_for(self, resource: str) -> Iterator[None]:
        """Add the error of a block as that of a resource.

        Raises:
            ConfigurationError: The block raises it: what the user gave is wrong, and nothing was sent.
        """
        try:
            yield
        except ConfigurationError:
            raise
        except KafkaGroupsError as error:
            self.fail(problem_of(resource, error))

    def take(
        self,
        results: "Results[K, V]",
        entry: Callable[[K, V], E] | None,
        resource: Callable[[K], str] = str,
    ) -> None:
        """Add the results of a call: an item for each key that succeeded, and an error for each that failed.

        Args:
            results: The results.
            entry: Returns the item of a key; None: it makes none.
            resource: Returns what an error of a key is about.
        """
        if entry is not None:
            self.items += [entry(key, value) for key, value in results.values.items()]
        for key, error in results.errors.items():
            self.fail(problem_of(resource(key), error))

    def tell(self, lines: Callable[[Sequence[E]], Iterable[str]], name: Callable[[E], str] | None = None) -> None:
        """Print the answer. End the command with status 1 if anything failed.

        Args:
            lines: Returns the lines for people.
            name: Returns the name of an item, for `--quiet`. None: nothing is printed then, as after a change.
        """
        if self.form is AnswerForm.JSON:
            say(document_text(self.items, [each.entry for each in self.problems]))
        elif self.form is AnswerForm.TABLE:
            _say_all(lines(self.items))
        elif name is not None:
            _say_all(map(name, self.items))
        if self.problems:
            sys.exit(_FAILED)


def _say_all(lines: Iterable[str]) -> None:
    if text := "\n".join(lines):
        say(text)


def answer_options(command: F) -> F:
    """Add the options of the form to a command, which gets an `AnswerForm` for `form`."""

    @functools.wraps(command)
    def run(*, as_json: bool, quiet: bool, **given: Any) -> Any:
        if as_json and quiet:
            raise click.UsageError("Give either --json or --quiet.")
        form = AnswerForm.JSON if as_json else AnswerForm.NAMES if quiet else AnswerForm.TABLE
        return command(form=form, **given)

    quiet = click.option("--quiet", is_flag=True, help="Print names alone, one a line, and nothing for changes.")
    made: Any = click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")(quiet(run))
    result: F = made
    return result
