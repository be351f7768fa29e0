"""Options with a few allowed words, which users may write in upper or lower case."""

from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

__all__ = ["AnyCase", "choosing_states"]


class AnyCase(click.Choice):  # type: ignore[type-arg] # not generic in older releases
    """One of several words, in upper or lower case. Unlike click's own, errors show them as they are."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word, as it is in the list."""
        known = {str(choice).lower(): choice for choice in self.choices}
        return super().convert(known.get(str(value).lower(), value), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the words that begin so, in upper or lower case."""
        return [CompletionItem(str(each)) for each in self.choices if str(each).lower().startswith(incomplete.lower())]


def choosing_states(*states: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option for which states of groups a command lists."""
    help_text = "Only groups in this state. Repeatable."
    return click.option("--state", "states", multiple=True, type=AnyCase(states), help=help_text)
