"""`--set KEY=VALUE`, an option of several commands."""

import click

__all__ = ["key_and_value"]


def key_and_value(text: str) -> tuple[str, str]:
    """Return the two parts of the value of a `--set` option.

    Raises:
        click.BadParameter: There is no equals sign, or no key.
    """
    key, equals, value = text.partition("=")
    if not (equals and key.strip()):
        raise click.BadParameter(f"{text!r} is not of the form KEY=VALUE.", param_hint="--set")
    return key.strip(), value
