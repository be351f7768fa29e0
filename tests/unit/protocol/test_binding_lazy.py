"""Importing the codec and speaking one API must not import all schemas: that costs a third of a second."""

import json
import subprocess
import sys

PROGRAM = """
import json, sys
import kafka_groups.protocol.codec as codec
from kafka_groups.protocol.apis import ApiKey

def schemas():
    return [name for name in sys.modules if name.startswith("kio.schema.")]

imported = schemas()
codec.request_binding(ApiKey.SHARE_FETCH, 2)
codec.response_binding(ApiKey.SHARE_FETCH, 2)
messages = [name for name in sys.modules if name.startswith("kafka_groups.protocol.messages.")]
print(json.dumps({"imported": imported, "bound": schemas(), "messages": messages}))
"""
HEADERS_AND_TABLES = {"request_header", "response_header", "errors", "index", "types"}


def test_schemas_and_messages_are_imported_when_they_are_first_used() -> None:
    child = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    modules = json.loads(child.stdout)

    assert _schemas(modules["imported"]) <= HEADERS_AND_TABLES
    assert _schemas(modules["bound"]) - HEADERS_AND_TABLES == {"share_fetch"}
    assert {name.rpartition(".")[2] for name in modules["messages"]} & {"create_topics", "produce", "fetch"} == set()


def _schemas(modules: list[str]) -> set[str]:
    return {name.split(".")[2] for name in modules}
