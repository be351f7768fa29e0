"""All handlers stand in one table, and each of their functions gets the context of the request."""

import ast
import inspect
from pathlib import Path

import pytest

from kafka_groups.broker import api
from kafka_groups.broker.api.handlers import HANDLERS, Handler

MODULES = sorted(Path(api.__file__).parent.glob("*.py"))


def test_each_handler_is_in_the_table() -> None:
    registered = [inspect.getmodule(handler) or inspect.getmodule(type(handler)) for handler in HANDLERS.values()]
    names = {module.__name__.rpartition(".")[2] for module in registered if module is not None}
    assert {path.stem for path in MODULES} - {"__init__", "handlers"} == names
    assert len(names) == len(HANDLERS)


@pytest.mark.parametrize("handler", HANDLERS.values(), ids=[key.name.lower() for key in HANDLERS])
def test_a_handler_takes_a_request_and_its_context(handler: Handler) -> None:
    assert [*inspect.signature(handler).parameters] == ["request", "context"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_function_of_a_handler_takes_the_parts_of_the_broker_without_the_request(path: Path) -> None:
    module = ast.parse(path.read_text(encoding="utf-8"))
    assert not [node.lineno for node in ast.walk(module) if isinstance(node, ast.Name) and node.id == "BrokerServices"]
