"""Any regular expression that a client sends is compiled, or refused with a message."""

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.broker.coordinators.groups.topic_patterns import compile_pattern
from kafka_groups.errors import InvalidRegularExpressionError
from tests.support.topic_patterns import matching

PIECES = st.sampled_from(
    ["a", ".", "*", "+", "|", "(", ")", "[", "]", "{", "}", "1", ",", "\\", "^", "$", "?", "é", "\0"]
)
NAMES = ["a", "a.b", "__consumer_offsets"]


@given(st.text() | st.lists(PIECES).map("".join))
def test_a_text_is_compiled_or_refused(text: str) -> None:
    """Any other exception would be the broker's fault."""
    with contextlib.suppress(InvalidRegularExpressionError):
        assert set(matching(compile_pattern(text), NAMES)) <= set(NAMES)


@given(st.text(alphabet="abc.-_", min_size=1), st.text(alphabet="abc.-_", min_size=1))
def test_quoted_text_matches_itself_alone(text: str, other: str) -> None:
    assert matching(compile_pattern(rf"\Q{text}\E"), [text, other]) == [text] * (1 + (text == other))
