import importlib.util
import re
from types import ModuleType

import pytest

from kafka_groups.config.broker import broker_keys, group_keys
from kafka_groups.config.share import FORBIDDEN, share_consumer_keys
from kafka_groups.config.topic import topic_keys
from kafka_groups.errors import BrokerError, KafkaGroupsError
from tests.docs.blocks import ROOT

REFERENCE = ROOT / "docs" / "reference"


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference_hook", ROOT / "docs" / "_hooks" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page(hook: ModuleType, name: str) -> str:
    made = hook.on_page_markdown((REFERENCE / name).read_text())
    assert isinstance(made, str)
    assert "<!-- generated" not in made
    return made


def test_configuration_reference_has_every_key(hook: ModuleType) -> None:
    rows = [line for line in page(hook, "configuration.md").splitlines() if line.startswith("| `")]
    consumer, others = share_consumer_keys(), [*FORBIDDEN, *group_keys(), *broker_keys(), *topic_keys()]
    assert len(rows) == len(consumer) + len(others)
    for attribute, key in consumer.items():
        assert any(f"| `{attribute}` | `{key.name}`" in row and key.doc in row for row in rows)
    for name in others:
        assert any(row.startswith(f"| `{name}` |") for row in rows), name


def test_error_reference_has_every_class(hook: ModuleType) -> None:
    made = page(hook, "errors.md")

    def below(error: type[KafkaGroupsError]) -> list[type[KafkaGroupsError]]:
        return [child for direct in error.__subclasses__() for child in (direct, *below(direct))]

    for error in below(KafkaGroupsError):
        if error.__module__ == KafkaGroupsError.__module__:
            assert len(re.findall(rf"^\| `{error.__name__}` \|", made, re.MULTILINE)) == 1, error
    assert "| `InvalidRecordStateError` | 121 | no |" in made
    assert re.search(r"^\| `BrokerError` \|", made, re.MULTILINE)
    assert BrokerError.__subclasses__()


def test_rows_have_as_many_cells_as_their_table(hook: ModuleType) -> None:
    for name in ("configuration.md", "errors.md"):
        widths: set[int] = set()
        for line in page(hook, name).splitlines():
            if not line.startswith("|"):
                widths = set()
                continue
            widths.add(len(re.findall(r"(?<!\\)\|", line)))
            assert len(widths) == 1, line
