"""Our names are those of OpenTelemetry's semantic conventions, and none of them is deprecated."""

import ast
import inspect
from itertools import pairwise

import pytest
from opentelemetry.semconv._incubating.attributes import messaging_attributes
from opentelemetry.semconv._incubating.metrics import messaging_metrics
from opentelemetry.semconv.attributes import error_attributes, exception_attributes

from kafka_groups.telemetry import conventions

MODULES = (messaging_attributes, messaging_metrics, error_attributes, exception_attributes)
VALUES = {"KAFKA", "PROCESS", "RECEIVE", "SEND", "SETTLE"}
NAMES = sorted(set(conventions.__all__) - VALUES)


def described() -> dict[str, str]:
    """What the library says of each name, which is the text after its definition."""
    found: dict[str, str] = {}
    for module in MODULES:
        body = ast.parse(inspect.getsource(module)).body
        for statement, after in pairwise(body):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.value, ast.Constant):
                has_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                found[str(statement.value.value)] = str(after.value.value) if has_text else ""  # type: ignore[attr-defined]
    return found


DESCRIBED = described()


def test_deprecated_names_are_recognised() -> None:
    assert DESCRIBED["messaging.kafka.message.offset"].strip().startswith("Deprecated")
    assert DESCRIBED["messaging.client.published.messages"].strip().startswith("Deprecated")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_in_the_conventions(name: str) -> None:
    value = getattr(conventions, name)
    assert value in DESCRIBED
    assert DESCRIBED[value].strip()
    assert not DESCRIBED[value].strip().startswith("Deprecated")


def test_values_are_in_the_conventions() -> None:
    operations = {each.value for each in messaging_attributes.MessagingOperationTypeValues}
    assert {conventions.PROCESS, conventions.RECEIVE, conventions.SEND, conventions.SETTLE} <= operations
    assert messaging_attributes.MessagingSystemValues.KAFKA.value == conventions.KAFKA
