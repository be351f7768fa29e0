"""Options of the form KEY=VALUE."""

import click
import pytest

from kafka_groups.cli.key_value import keys_and_values, refuse_repeated


def test_keys_have_their_values() -> None:
    assert keys_and_values([" a =1", "b=x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}


@pytest.mark.parametrize(
    ("texts", "said"),
    [(["a"], "not of the form"), (["=1"], "not of the form"), (["a=1", "a=1"], "'a' is given more than once")],
)
def test_what_would_be_ignored_is_refused(texts: list[str], said: str) -> None:
    with pytest.raises(click.BadParameter, match=said):
        keys_and_values(texts)


def test_names_of_two_options_may_not_be_the_same() -> None:
    refuse_repeated(["a", "b"], "--set")
    with pytest.raises(click.BadParameter, match="'b' is given more than once"):
        refuse_repeated(["a", "b", "b"], "--set")
