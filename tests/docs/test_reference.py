import enum
import importlib.util
import re
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import attrs
import pytest

from kafka_groups.broker.api.handlers import HANDLERS
from kafka_groups.broker.share import record_state
from kafka_groups.client.membership import states as member_states
from kafka_groups.config.broker import broker_keys, group_keys
from kafka_groups.config.share import FORBIDDEN, share_consumer_keys
from kafka_groups.config.topic import topic_keys
from kafka_groups.errors import BrokerError, KafkaGroupsError
from kafka_groups.protocol.apis import APIS, ApiKey
from kafka_groups.spark.schema import RECORD_SCHEMA
from kafka_groups.spark.source.options import source_option_keys
from kafka_groups.spark.source.progress import Counts
from kafka_groups.spark.worker_options import WorkerOptions
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


def worded(member: enum.Enum) -> str:
    return member.name.lower().replace("_", " ")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def transitions(made: str, columns: type[enum.Enum]) -> dict[tuple[str, str], str]:
    """(state, event) → cell, of the table whose columns are these events."""
    lines = made.splitlines()
    events = [worded(event) for event in columns]
    begin = lines.index("| " + " | ".join(["State", *events]) + " |")
    found: dict[tuple[str, str], str] = {}
    for line in lines[begin + 2 :]:
        if not line.startswith("|"):
            break
        state, *row = cells(line)
        found |= {(state.strip("*"), event): cell for event, cell in zip(events, row, strict=True)}
    return found


@pytest.mark.parametrize(
    ("states", "events", "table"),
    [
        (member_states.MemberState, member_states.MemberEvent, member_states.TRANSITIONS),
        (record_state.RecordState, record_state.RecordEvent, record_state.TRANSITIONS),
    ],
    ids=["member", "record"],
)
def test_states_page_has_every_transition_and_no_other(
    hook: ModuleType, states: type[enum.Enum], events: type[enum.Enum], table: Mapping[Any, enum.Enum]
) -> None:
    shown = transitions(page(hook, "states.md"), events)
    assert set(shown) == {(worded(state), worded(event)) for state in states for event in events}
    for state in states:
        for event in events:
            after = table.get((state, event))
            expected = "" if after is None else "(stays)" if after is state else f"→ {worded(after)}"
            assert shown[worded(state), worded(event)] == expected


def test_states_page_says_what_each_state_and_event_means(hook: ModuleType) -> None:
    rows = dict(cells(line) for line in page(hook, "states.md").splitlines() if len(cells(line)) == 2)
    for member in (*member_states.MemberState, *record_state.RecordEvent):
        assert rows[worded(member)].endswith("."), member


def test_protocol_page_has_every_served_api(hook: ModuleType) -> None:
    rows = [cells(line) for line in page(hook, "protocol.md").splitlines() if line.startswith("| ")][2:]
    assert [(int(key), versions) for _, key, versions, _ in rows] == [
        (int(key), str(APIS[key].versions)) for key in sorted(HANDLERS)
    ]
    for name, key, _, meaning in rows:
        assert name.lower() == APIS[ApiKey(int(key))].module.replace("_", "")
        assert meaning.endswith("."), meaning


def test_rows_have_as_many_cells_as_their_table(hook: ModuleType) -> None:
    for name in ("configuration.md", "errors.md", "states.md", "protocol.md"):
        widths: set[int] = set()
        for line in page(hook, name).splitlines():
            if not line.startswith("|"):
                widths = set()
                continue
            widths.add(len(re.findall(r"(?<!\\)\|", line)))
            assert len(widths) == 1, line


def test_spark_reference_has_every_column_option_and_figure(hook: ModuleType) -> None:
    made = page(hook, "spark.md")
    for column in RECORD_SCHEMA:
        assert f"| `{column.name}` |" in made
    for key in source_option_keys().values():
        assert f"| `{key.name}` |" in made
        assert key.doc in made
    for figure in attrs.fields(Counts):
        assert f"| `{figure.name}` |" in made


def test_guide_names_the_defaults_of_workers_and_source() -> None:
    guide = (ROOT / "docs" / "how-to" / "spark" / "size.md").read_text()
    shown = dict(re.findall(r"^\| `(\w+)` \| `?([\w,]+)`? \|", guide, re.MULTILINE))
    options: dict[str, Any] = {option.name: option.default for option in attrs.fields(WorkerOptions)}
    source: dict[str, Any] = {key.name: key.default for key in source_option_keys().values()}
    checked = 0
    for name, default in {**options, **source}.items():
        if name in shown:
            checked += 1
            assert shown[name].replace(",", "") in {str(default), f"{default:g}", f"{default // 2**20}m"}, name
    assert checked >= 7


def test_pyspark_versions_are_those_that_are_tested() -> None:
    script = (ROOT / ".ci" / "spark-versions").read_text()
    tested = re.search(r"set -- (?P<versions>[0-9. ]+)$", script, re.MULTILINE)
    assert tested is not None
    reference = (REFERENCE / "spark.md").read_text()
    assert f"| {', '.join(tested['versions'].split())} | 4.1 and newer |" in reference
