"""`--set KEY=VALUE`, an option of several commands, and the refusal of what is given twice."""

from collections.abc import Iterable

import click

__all__ = ["key_and_value", "keys_and_values", "refuse_repeated"]


def key_and_value(text: str, option: str = "--set") -> tuple[str, str]:
    """Return the two parts of the value of an option such as `--set`.

    Raises:
        click.BadParameter: There is no equals sign, or no key.
    """
    key, equals, value = text.partition("=")
    if not (equals and key.strip()):
        raise click.BadParameter(f"{text!r} is not of the form KEY=VALUE.", param_hint=option)
    return key.strip(), value


def keys_and_values(texts: Iterable[str]) -> dict[str, str]:
    """Return the keys of all `--set` options with their values.

    Raises:
        click.BadParameter: One is not of the form KEY=VALUE, or a key is given twice.
    """
    pairs = [key_and_value(text) for text in texts]
    refuse_repeated([key for key, _ in pairs], "--set")
    return dict(pairs)


def refuse_repeated(names: Iterable[str], option: str) -> None:
    """Refuse names that are given twice, as all values but one would be ignored.

    Raises:
        click.BadParameter: A name is given twice.
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise click.BadParameter(f"{name!r} is given more than once.", param_hint=option)
        seen.add(name)
