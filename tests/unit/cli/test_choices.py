"""Options with a few allowed words, in upper or lower case."""

import click
import pytest

from kafka_groups.cli.choices import AnyCase

STATES = AnyCase(("Stable", "NotReady"))


@pytest.mark.parametrize("given", ["NotReady", "notready", "NOTREADY"])
def test_the_case_of_a_word_does_not_matter(given: str) -> None:
    assert STATES.convert(given, None, None) == "NotReady"


def test_an_unknown_word_is_refused_with_the_words_as_they_are() -> None:
    with pytest.raises(click.BadParameter, match="'full' is not one of 'Stable', 'NotReady'"):
        STATES.convert("full", None, None)
