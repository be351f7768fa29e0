import enum
import importlib
import json
import re
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import attrs
import pytest
from attrs import evolve

from kafka_groups.broker.api.handlers import HANDLERS
from kafka_groups.broker.coordinators.groups.classic import states as classic_states
from kafka_groups.broker.coordinators.groups.consumer import states as consumer_states
from kafka_groups.broker.coordinators.groups.streams import states as streams_group_states
from kafka_groups.broker.coordinators.transactions.states import TRANSACTION_TRANSITIONS
from kafka_groups.broker.metrics import METRICS as BROKER_METRICS
from kafka_groups.broker.profile import DEFAULT_PROFILE, PROFILES
from kafka_groups.broker.share_partitions import record_state
from kafka_groups.broker.unsupported import UNSUPPORTED
from kafka_groups.cli.documents.catalogue import DOCUMENTS, LINES
from kafka_groups.cli.documents.document import line_schema_of, schema_of
from kafka_groups.config.clients.admin import admin_keys
from kafka_groups.config.clients.foreign import FORBIDDEN, FOREIGN
from kafka_groups.config.clients.share import share_consumer_keys
from kafka_groups.config.clients.streams import streams_keys
from kafka_groups.config.clients.streams_member import IGNORED_BY_KAFKA, streams_member_keys
from kafka_groups.config.clients.streams_refusals import REFUSED_BY_STREAMS
from kafka_groups.config.cluster.broker import broker_keys
from kafka_groups.config.cluster.groups import group_keys
from kafka_groups.config.cluster.topic import topic_keys
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.config.records.record_reader import ReaderConfig
from kafka_groups.config.settings import KeyTable
from kafka_groups.errors import BrokerError, KafkaGroupsError
from kafka_groups.protocol.apis import APIS, ApiKey
from kafka_groups.records.metrics import RECORDS_METRIC_GROUPS
from kafka_groups.records.transactions.transaction import WRITER_TRANSITIONS
from kafka_groups.share.membership import states as member_states
from kafka_groups.share.metrics import SHARE_METRICS
from kafka_groups.spark.records.schema import RECORD_SCHEMA
from kafka_groups.spark.source.options import source_option_keys
from kafka_groups.spark.source.progress import Counts
from kafka_groups.spark.workers.worker_options import WorkerOptions
from kafka_groups.streams.member.classic import transitions as classic_member_transitions
from kafka_groups.streams.member.coordinated import transitions as streams_transitions
from kafka_groups.streams.member.rules.member_metrics import COORDINATOR_METRIC_GROUPS, MEMBER_METRICS
from kafka_groups.streams.workers.application_metrics import METRIC_GROUPS
from kafka_groups.testing.simulation.faults.seeded_faults import FAULT_NAMES
from kafka_groups.types import ConsumerState
from tests.docs.blocks import ROOT
from tests.docs.hooks import hook_named

REFERENCE = ROOT / "docs" / "reference"


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    return hook_named("reference")


def page(hook: ModuleType, name: str) -> str:
    made = hook.on_page_markdown((REFERENCE / name).read_text())
    assert isinstance(made, str)
    assert "<!-- generated" not in made
    return made


def test_configuration_reference_has_every_key(hook: ModuleType) -> None:
    made = page(hook, "configuration.md")
    entries = re.findall(r"^#### `(\S+)` \{ #\S+ \}$", made, re.MULTILINE)
    member = [key for name, key in streams_member_keys().items() if name not in admin_keys()]
    application = [key for name, key in streams_keys().items() if name not in streams_member_keys()]
    of_groups = [*group_keys().values(), *broker_keys().values(), *topic_keys().values()]
    of_records = [
        evolve(key, name=f"{prefix}.{key.name}")
        for prefix, kind in (("producer", ProducerConfig), ("consumer", ReaderConfig))
        for _, key in KeyTable(kind)
    ]
    consumer, others = share_consumer_keys(), [*application, *of_records, *member, *of_groups]
    assert sorted(entries) == sorted(key.name for key in [*consumer.values(), *others])
    for key in [*consumer.values(), *others]:
        assert f"\n{key.doc}\n" in made, key.name
    for attribute, key in consumer.items():
        assert f"**Keyword:** `{attribute}` " in made, key.name
        assert all(f"`{alias}`" in made for alias in key.aliases), key.name
    for name in (*FORBIDDEN, *IGNORED_BY_KAFKA, *REFUSED_BY_STREAMS):
        assert f"\n| `{name}` |" in made, name
    for name, (why, _) in FOREIGN.items():
        assert re.search(rf"^- \*\*.{re.escape(why[1:])}\.\*\* .*`{re.escape(name)}`", made, re.MULTILINE), name


def test_keys_of_later_releases_say_since_when_they_are_there(hook: ModuleType) -> None:
    made = page(hook, "configuration.md")
    facts = dict(re.findall(r"^#### `(\S+)` .*\n\n.*\n\n(.*)$", made, re.MULTILINE))
    since = {name: text.rpartition("**Since:** ")[2] for name, text in facts.items() if "**Since:**" in text}
    of_4_3, of_4_4 = (
        {*PROFILES[name].missing_broker_keys, *PROFILES[name].missing_group_keys} for name in ("4.2", "4.3")
    )
    assert since == dict.fromkeys(of_4_3, "Kafka 4.3") | dict.fromkeys(of_4_4, "Kafka 4.4")


def test_every_key_can_be_linked_to(hook: ModuleType) -> None:
    anchors = re.findall(r"^#### .* \{ #(\S+) \}$", page(hook, "configuration.md"), re.MULTILINE)
    assert len(set(anchors)) == len(anchors)
    assert "consumer-max.poll.records" in anchors


def test_command_reference_has_the_schema_of_every_document(hook: ModuleType) -> None:
    made = page(hook, "command.md")
    printed = re.findall(r"^#### ([^\n]*) --json\n\n```json\n(.*?)^```$", made, re.MULTILINE | re.DOTALL)
    lines = {command: line_schema_of(kind) for command, kind in LINES.items()}
    assert {command: json.loads(text) for command, text in printed} == lines | {
        command: schema_of(kind) for command, kind in DOCUMENTS.items()
    }


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


def part(made: str, heading: str) -> str:
    """What a page says under a heading."""
    return made.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def transitions(made: str) -> dict[tuple[str, str], str]:
    """(state, event) → next state, of the tables of transitions in a part of the page."""
    rows = [cells(line) for line in made.splitlines() if line.startswith("| **")]
    found = {(state.strip("*"), event): target for state, event, target in rows}
    assert len(found) == len(rows)
    return found


@pytest.mark.parametrize(
    ("heading", "events", "table"),
    [
        ("A member of a group", member_states.MemberEvent, member_states.TRANSITIONS),
        ("A member of a streams group", streams_transitions.MembershipEvent, streams_transitions.TRANSITIONS),
        (
            "A member of a classic group",
            classic_member_transitions.ClassicMembershipEvent,
            classic_member_transitions.TRANSITIONS,
        ),
        ("A record of a share-partition", record_state.RecordEvent, record_state.TRANSITIONS),
    ],
    ids=["member", "streams member", "classic member", "record"],
)
def test_states_page_has_every_transition_and_no_other(
    hook: ModuleType, heading: str, events: type[enum.Enum], table: Mapping[Any, enum.Enum]
) -> None:
    shown = transitions(part(page(hook, "states.md"), heading))
    assert shown == {
        (worded(state), worded(event)): "(unchanged)" if after is state else worded(after)
        for (state, event), after in table.items()
    }
    assert {event for _, event in shown} <= {worded(event) for event in events}


@pytest.mark.parametrize(
    ("heading", "table"),
    [
        ("A classic group", classic_states.CLASSIC_GROUP_TRANSITIONS),
        ("A consumer group", consumer_states.CONSUMER_GROUP_TRANSITIONS),
        ("A streams group", streams_group_states.STREAMS_GROUP_TRANSITIONS),
        ("A transactional id", TRANSACTION_TRANSITIONS),
        ("A transactional producer", WRITER_TRANSITIONS),
    ],
    ids=["classic", "consumer", "streams", "transactional", "producer"],
)
def test_states_page_has_every_transition_of_a_group(
    hook: ModuleType, heading: str, table: Mapping[Any, enum.Enum]
) -> None:
    shown = transitions(part(page(hook, "states.md"), heading))
    assert shown == {
        (state.value, worded(event)): "(unchanged)" if after is state else after.value
        for (state, event), after in table.items()
    }


def test_states_page_says_what_each_state_and_event_means(hook: ModuleType) -> None:
    rows = dict(cells(line) for line in page(hook, "states.md").splitlines() if len(cells(line)) == 2)
    for member in (*member_states.MemberState, *record_state.RecordEvent):
        assert rows[worded(member)].endswith("."), member


def test_the_page_of_the_embedded_broker_has_all_that_is_not_built(hook: ModuleType) -> None:
    made = hook.on_page_markdown((ROOT / "docs" / "explanation" / "embedded-broker.md").read_text())
    table = made[made.index("## Not built yet") :]
    for entry in UNSUPPORTED:
        (row,) = [line for line in table.splitlines() if line.startswith(f"| {entry.why} |")]
        assert re.search(rf"[ `]{re.escape(entry.name)}[` ,]", row), entry


def test_protocol_page_has_every_served_api(hook: ModuleType) -> None:
    rows = [cells(line) for line in page(hook, "protocol.md").splitlines() if line.startswith("| ")][2:]
    assert [(int(key), versions) for _, key, versions, _ in rows] == [
        (int(key), str(DEFAULT_PROFILE.served(key))) for key in sorted(HANDLERS)
    ]
    for name, key, _, meaning in rows:
        assert name.lower() == APIS[ApiKey(int(key))].module.replace("_", "")
        assert meaning.endswith("."), meaning


def test_rows_have_as_many_cells_as_their_table(hook: ModuleType) -> None:
    for name in ("configuration.md", "errors.md", "metrics.md", "states.md", "protocol.md"):
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
        assert f"#### `{key.name}` {{ #source-{key.name} }}\n\n{key.doc}\n" in made
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


def test_state_reference_has_every_state_of_a_consumer(hook: ModuleType) -> None:
    rows = page(hook, "states.md").splitlines()
    for state in ConsumerState:
        assert any(row.startswith(f"| `{state.name}` | {state.value} | ") and row.endswith(". |") for row in rows), (
            state
        )


def test_metric_reference_has_every_metric_once(hook: ModuleType) -> None:
    rows = [cells(line) for line in page(hook, "metrics.md").splitlines() if line.startswith("| `")]
    of_clients = [[metric.name for metric in each] for each in (SHARE_METRICS, MEMBER_METRICS)]
    of_applications = [[metric.name for metric in each] for each in METRIC_GROUPS.values()]
    of_records = [[metric.name for metric in each] for each in RECORDS_METRIC_GROUPS.values()]
    of_coordinators = [[metric.name for metric in each] for each in COORDINATOR_METRIC_GROUPS.values()]
    tables = [*of_clients, *of_applications, *of_records, *of_coordinators, [metric.name for metric in BROKER_METRICS]]
    assert [name for name, _, _ in rows] == [f"`{name}`" for names in tables for name in names]
    assert all(len(set(names)) == len(names) for names in tables)
    assert all(unit and meaning.endswith(".") for _, unit, meaning in rows)


@pytest.mark.parametrize(
    "package",
    [
        "kafka_groups.assignment",
        "kafka_groups.serdes",
        "kafka_groups.streams",
        "kafka_groups.testing.assignors",
        "kafka_groups.testing.topology_driver",
    ],
)
def test_reference_has_every_public_name(package: str) -> None:
    pages = "\n".join(path.read_text() for path in REFERENCE.glob("*.md"))
    described = set(re.findall(r"^::: \S*\.(\w+)$", pages, re.MULTILINE))
    in_table = set(re.findall(r"^\| `serdes\.(\w+)` \|", pages, re.MULTILINE)) | {"serdes"}
    assert set(importlib.import_module(package).__all__) <= described | in_table


def test_the_page_on_simulations_has_every_fault() -> None:
    page = (ROOT / "docs" / "how-to" / "simulate.md").read_text()
    assert sorted(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == sorted(FAULT_NAMES)
