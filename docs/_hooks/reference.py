"""Generates parts of the reference pages from the code: keys, options, error classes, state machines, served APIs.

A page contains lines of the form `<!-- generated: NAME -->`. The build replaces each of them with generated Markdown.
"""

import ast
import enum
import importlib
import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import evolve
from pyspark.sql.pandas.types import from_arrow_type

from kafka_groups.broker.api.handlers import HANDLERS
from kafka_groups.broker.coordinators.groups.classic.states import (
    CLASSIC_GROUP_TRANSITIONS,
    ClassicGroupEvent,
    ClassicGroupState,
)
from kafka_groups.broker.coordinators.groups.consumer.states import (
    CONSUMER_GROUP_TRANSITIONS,
    ConsumerGroupEvent,
    ConsumerGroupState,
)
from kafka_groups.broker.coordinators.groups.streams.states import (
    STREAMS_GROUP_TRANSITIONS,
    StreamsGroupEvent,
    StreamsGroupState,
)
from kafka_groups.broker.coordinators.transactions.states import (
    TRANSACTION_TRANSITIONS,
    TransactionEvent,
    TransactionState,
)
from kafka_groups.broker.metrics import METRICS as BROKER_METRICS
from kafka_groups.broker.profile import DEFAULT_PROFILE, PROFILES, Profile
from kafka_groups.broker.share_partitions import record_state
from kafka_groups.broker.unsupported import UNSUPPORTED, Unsupported, UnsupportedKind
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
from kafka_groups.config.keys import Key
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.config.records.record_reader import ReaderConfig
from kafka_groups.config.settings import KeyTable
from kafka_groups.errors import BrokerError, KafkaGroupsError
from kafka_groups.protocol.apis import APIS
from kafka_groups.records.metrics import RECORDS_METRIC_GROUPS
from kafka_groups.records.transactions.transaction import WRITER_TRANSITIONS, WriterEvent, WriterState
from kafka_groups.share.membership import states as member_states
from kafka_groups.share.metrics import SHARE_METRICS
from kafka_groups.spark.records.schema import RECORD_SCHEMA
from kafka_groups.spark.source.options import source_option_keys
from kafka_groups.spark.source.progress import Counts
from kafka_groups.streams.member.classic.transitions import TRANSITIONS as CLASSIC_MEMBER_TRANSITIONS
from kafka_groups.streams.member.classic.transitions import ClassicMembershipEvent
from kafka_groups.streams.member.coordinated.transitions import TRANSITIONS as STREAMS_MEMBER_TRANSITIONS
from kafka_groups.streams.member.coordinated.transitions import MembershipEvent
from kafka_groups.streams.member.rules.member_metrics import COORDINATOR_METRIC_GROUPS, MEMBER_METRICS
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.streams.workers.absent_metrics import ABSENT_METRICS
from kafka_groups.streams.workers.application_metrics import METRIC_GROUPS
from kafka_groups.telemetry.families import (
    HANDLER_FAMILIES,
    SPARK_FAMILIES,
    Family,
    broker_families,
    share_consumer_families,
    streams_families,
    streams_member_families,
)
from kafka_groups.types import ConsumerState

_MARK = re.compile(r"^<!-- generated: (?P<name>[a-z-]+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the marks on a page with generated Markdown."""
    return _MARK.sub(lambda match: "\n".join(_GENERATORS[match["name"]]()), markdown)


def documents() -> Iterator[str]:
    """The schemas of the JSON documents that commands print."""
    for command, kind in DOCUMENTS.items():
        yield from _document_schema(command, schema_of(kind))


def document_lines() -> Iterator[str]:
    """The schemas of the lines of commands that print one JSON object a line."""
    for command, kind in LINES.items():
        yield from _document_schema(command, line_schema_of(kind))


def _document_schema(command: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"#### {command} --json", "", "```json", json.dumps(schema, indent=2, ensure_ascii=False), "```", "")


def share_consumer() -> Iterator[str]:
    """The keys of a share consumer."""
    for attribute, key in share_consumer_keys().items():
        yield from _entry("consumer", key, keyword=attribute)


def admin_client() -> Iterator[str]:
    """The keys of an admin client, which are keys of a share consumer."""
    yield ", ".join(f"[`{key.name}`](#consumer-{key.name})" for key in admin_keys().values())


def streams_member() -> Iterator[str]:
    """The keys of a member of a streams group that not all clients have."""
    for attribute, key in streams_member_keys().items():
        if attribute not in admin_keys():
            yield from _entry("member", key, keyword=attribute)


def streams_application() -> Iterator[str]:
    """The keys of a streams application that members don't have."""
    for attribute, key in streams_keys().items():
        if attribute not in streams_member_keys():
            yield from _entry("application", key, keyword=attribute)


def application_producer() -> Iterator[str]:
    """The keys of an application's producer."""
    return _prefixed("producer", ProducerConfig)


def application_consumers() -> Iterator[str]:
    """The keys of an application's consumers."""
    return _prefixed("consumer", ReaderConfig)


def _prefixed(prefix: str, settings_class: type[Any]) -> Iterator[str]:
    for _, key in KeyTable(settings_class):
        aliases = tuple(f"{prefix}.{alias}" for alias in key.aliases)
        yield from _entry("application", evolve(key, name=f"{prefix}.{key.name}", aliases=aliases))


def refused_by_applications() -> Iterator[str]:
    """The keys of Kafka Streams that an application refuses, the reasons, and what to do instead."""
    return _refused(REFUSED_BY_STREAMS)


def ignored_in_streams_groups() -> Iterator[str]:
    """The keys that Kafka Streams ignores in streams groups, and what to do instead."""
    return _refused(IGNORED_BY_KAFKA)


def streams_member_state() -> Iterator[str]:
    """The states of a member of a streams group."""
    return _meanings(MembershipState)


def streams_member_transition() -> Iterator[str]:
    """Where each event takes a member of a streams group."""
    return _transitions(MembershipState, MembershipEvent, STREAMS_MEMBER_TRANSITIONS)


def classic_member_transition() -> Iterator[str]:
    """Where each event takes a member of a classic group."""
    return _transitions(MembershipState, ClassicMembershipEvent, CLASSIC_MEMBER_TRANSITIONS)


def consumer_metrics() -> Iterator[str]:
    """The metrics of a share consumer."""
    yield from _table_head("Name", "Unit", "Meaning")
    for metric in SHARE_METRICS:
        yield _row(f"`{metric.name}`", metric.unit, metric.doc)


def streams_member_metrics() -> Iterator[str]:
    """The metrics of a member of a streams group."""
    yield from _table_head("Name", "Unit", "Meaning")
    for metric in MEMBER_METRICS:
        yield _row(f"`{metric.name}`", metric.unit, metric.doc)


def application_metrics() -> Iterator[str]:
    """The metrics of a streams application, by group."""
    return _grouped_metrics(METRIC_GROUPS)


def records_metrics() -> Iterator[str]:
    """The metrics of an application's producers and consumers, by group."""
    return _grouped_metrics(RECORDS_METRIC_GROUPS)


def coordinator_metrics() -> Iterator[str]:
    """The metrics of an application's members of a classic group, by group."""
    return _grouped_metrics(COORDINATOR_METRIC_GROUPS)


def _grouped_metrics(groups: Mapping[str, Iterable[Any]]) -> Iterator[str]:
    for group, metrics in groups.items():
        yield from ("", f"### {group}", "")
        yield from _table_head("Name", "Unit", "Meaning")
        for metric in metrics:
            yield _row(f"`{metric.name}`", metric.unit, metric.doc)


def absent_metrics() -> Iterator[str]:
    """The metrics of Kafka Streams that an application does not have."""
    yield from _table_head("Group", "Names", "Why not")
    for group, reasons in ABSENT_METRICS.items():
        for names, why in reasons:
            yield _row(group, ", ".join(f"`{name}`" for name in names.split()), f"{why[0].upper()}{why[1:]}.")


def broker_metrics() -> Iterator[str]:
    """The metrics of an embedded broker."""
    yield from _table_head("Name", "Unit", "Meaning")
    for metric in BROKER_METRICS:
        yield _row(f"`{metric.name}`", metric.unit, metric.doc)


def exported_workers() -> Iterator[str]:
    """The metrics of handler workers in Prometheus."""
    return _families(HANDLER_FAMILIES.values(), "group")


def exported_consumers() -> Iterator[str]:
    """The metrics of a share consumer in Prometheus."""
    return _families(share_consumer_families(SHARE_METRICS).values(), "group", "client_id")


def exported_members() -> Iterator[str]:
    """The metrics of a member of a streams group in Prometheus."""
    return _families(streams_member_families(MEMBER_METRICS).values(), "group", "client_id")


def exported_applications() -> Iterator[str]:
    """The metrics of a streams application in Prometheus."""
    return _families(
        streams_families({**METRIC_GROUPS, **RECORDS_METRIC_GROUPS, **COORDINATOR_METRIC_GROUPS}).values(),
        "application_id",
        "client_id",
    )


def exported_spark() -> Iterator[str]:
    """The metrics of Spark's workers in Prometheus."""
    return _families(SPARK_FAMILIES.values(), "group")


def exported_brokers() -> Iterator[str]:
    """The metrics of embedded brokers in Prometheus."""
    families = dict.fromkeys(place.family for place in broker_families(BROKER_METRICS).values())
    return _families(families, "node_id")


def _families(families: Iterable[Family], *known: str) -> Iterator[str]:
    """One row for each metric, with the labels that are not on all of them."""
    yield from _table_head("Name", "Kind", "Labels", "Unit", "Meaning")
    for family in families:
        labels = ", ".join(f"`{label}`" for label in family.labels if label not in known)
        yield _row(f"`{family.name}`", family.kind.value, labels, family.unit, family.doc)


def forbidden() -> Iterator[str]:
    """The keys that a share consumer refuses, the reasons, and what to do instead."""
    return _refused(FORBIDDEN)


def _refused(table: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    yield from _table_head("Key", "Why not", "Instead")
    for name, (why, remedy) in table.items():
        yield _row(f"`{name}`", f"{why[0].upper()}{why[1:]}.", f"{remedy[0].upper()}{remedy[1:]}.")


def foreign() -> Iterator[str]:
    """The keys of other clients that mean nothing here, grouped by what to do instead."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for name, advice in FOREIGN.items():
        grouped.setdefault(advice, []).append(f"`{name}`")
    for (why, remedy), names in grouped.items():
        told = f"**{why[0].upper()}{why[1:]}.** {remedy[0].upper()}{remedy[1:]}."
        yield f"- {told} {', '.join(names)}"


def share_group() -> Iterator[str]:
    """The configuration of a group."""
    return _entries("group", group_keys().values(), lambda name: _since(name, Profile.has_group_key))


def broker() -> Iterator[str]:
    """The settings of an embedded broker."""
    return _entries("broker", broker_keys().values(), lambda name: _since(name, Profile.has_broker_key))


def topic() -> Iterator[str]:
    """The configuration of a topic on an embedded broker."""
    return _entries("topic", topic_keys().values())


def broker_errors() -> Iterator[str]:
    """The errors that a broker's error code becomes."""
    yield from _table_head("Class", "Code", "Retriable", "Meaning")
    for error in sorted(BrokerError.__subclasses__(), key=lambda error: error.code):
        yield _row(f"`{error.__name__}`", str(error.code), "yes" if error.retriable else "no", _first_line(error))


def own_errors() -> Iterator[str]:
    """The errors that this package raises by itself."""
    yield from _table_head("Class", "Is also a", "Retriable", "Meaning")
    for error in dict.fromkeys(_own(KafkaGroupsError)):  # once, also with two bases
        bases = ", ".join(f"`{base.__name__}`" for base in error.__bases__)
        yield _row(f"`{error.__name__}`", bases, "yes" if error.retriable else "no", _first_line(error))


def member_state() -> Iterator[str]:
    """The states of a group member and what each means."""
    return _meanings(member_states.MemberState)


def consumer_state() -> Iterator[str]:
    """The states of a consumer, with their numbers, and what each means."""
    yield from _table_head("State", "Number", "Meaning")
    meanings = _documented(ConsumerState)
    for state in ConsumerState:
        yield _row(f"`{state.name}`", str(state.value), " ".join(meanings[state.name].split()))


def member_transition() -> Iterator[str]:
    """Where each event takes a member."""
    return _transitions(member_states.MemberState, member_states.MemberEvent, member_states.TRANSITIONS)


def classic_group_state() -> Iterator[str]:
    """The states of a classic group."""
    yield from _table_head("State", "Meaning")
    for name, meaning in _documented(ClassicGroupState).items():
        yield _row(ClassicGroupState[name].value, meaning)


def classic_group_transition() -> Iterator[str]:
    """What changes the state of a classic group."""
    return _transitions(ClassicGroupState, ClassicGroupEvent, CLASSIC_GROUP_TRANSITIONS, lambda state: state.value)


def consumer_group_state() -> Iterator[str]:
    """The states of a consumer group."""
    yield from _table_head("State", "Meaning")
    for name, meaning in _documented(ConsumerGroupState).items():
        yield _row(ConsumerGroupState[name].value, meaning)


def consumer_group_transition() -> Iterator[str]:
    """What changes the state of a consumer group."""
    return _transitions(ConsumerGroupState, ConsumerGroupEvent, CONSUMER_GROUP_TRANSITIONS, lambda state: state.value)


def transaction_state() -> Iterator[str]:
    """The states of a transactional id."""
    yield from _table_head("State", "Meaning")
    for name, meaning in _documented(TransactionState).items():
        yield _row(TransactionState[name].value, meaning)


def transaction_transition() -> Iterator[str]:
    """What changes the state of a transactional id."""
    return _transitions(TransactionState, TransactionEvent, TRANSACTION_TRANSITIONS, lambda state: state.value)


def writer_state() -> Iterator[str]:
    """The states of a transactional producer."""
    yield from _table_head("State", "Meaning")
    for name, meaning in _documented(WriterState).items():
        yield _row(WriterState[name].value, meaning)


def writer_transition() -> Iterator[str]:
    """What changes the state of a transactional producer."""
    return _transitions(WriterState, WriterEvent, WRITER_TRANSITIONS, lambda state: state.value)


def streams_group_state() -> Iterator[str]:
    """The states of a streams group."""
    yield from _table_head("State", "Meaning")
    for name, meaning in _documented(StreamsGroupState).items():
        yield _row(StreamsGroupState[name].value, meaning)


def streams_group_transition() -> Iterator[str]:
    """What changes the state of a streams group."""
    return _transitions(StreamsGroupState, StreamsGroupEvent, STREAMS_GROUP_TRANSITIONS, lambda state: state.value)


def record_event() -> Iterator[str]:
    """What may happen to a record of a share-partition."""
    return _meanings(record_state.RecordEvent)


def record_transition() -> Iterator[str]:
    """Where each event takes a record."""
    return _transitions(record_state.RecordState, record_state.RecordEvent, record_state.TRANSITIONS)


def served_api() -> Iterator[str]:
    """The APIs that the embedded broker has a handler for."""
    yield from _table_head("API", "Key", "Versions", "What it does")
    for key in sorted(HANDLERS):
        api = APIS[key]
        card = inspect.getdoc(importlib.import_module(f"kafka_groups.broker.api.{api.module}")) or ""
        name, _, rest = card.split("\n\n", 1)[0].replace("\n", " ").partition(": ")
        versions = str(DEFAULT_PROFILE.served(key))
        yield _row(name.split(" ")[0], str(int(key)), versions, f"{rest[0].upper()}{rest[1:]}")


def unsupported() -> Iterator[str]:
    """What a release of Kafka has and the embedded broker lacks, by what it belongs to."""
    yield from _table_head("What is missing", "APIs, features and configs")
    grouped: dict[str, list[str]] = {}
    for entry in UNSUPPORTED:
        grouped.setdefault(entry.why, []).append(_UNSUPPORTED_NAMES[entry.kind](entry))
    for why, names in grouped.items():
        yield _row(why, ", ".join(names))


_UNSUPPORTED_NAMES: Mapping[UnsupportedKind, Callable[[Unsupported], str]] = {
    UnsupportedKind.API: lambda entry: f"{entry.name} ({entry.key})",
    UnsupportedKind.API_VERSION: lambda entry: f"{entry.name} ({entry.key}) before v{entry.supported}",
    UnsupportedKind.GROUP_CONFIG: lambda entry: f"`{entry.name}` of groups",
    UnsupportedKind.BROKER_CONFIG: lambda entry: f"`{entry.name}`",
    UnsupportedKind.RESOURCE: lambda entry: f"configs of {entry.name}",
}


def spark_columns() -> Iterator[str]:
    """The columns of a record in Spark and in Arrow."""
    yield from _table_head("Column", "Spark", "Arrow", "What it is")
    for column in RECORD_SCHEMA:
        yield _row(f"`{column.name}`", _spark_type(column.type), f"`{column.type}`", _COLUMNS[column.name])


def spark_source_options() -> Iterator[str]:
    """The options of the source that are not a consumer's keys."""
    return _entries("source", source_option_keys().values())


def spark_source_counts() -> Iterator[str]:
    """The figures of a run of the source."""
    yield from _table_head("Figure", "Meaning")
    entries = inspect.getdoc(Counts) or ""
    for name, meaning in re.findall(r"^ +(\w+): ((?:.|\n {8,})+)", entries, re.MULTILINE):
        yield _row(f"`{name}`", " ".join(meaning.split()))


_COLUMNS: Mapping[str, str] = {
    "topic": "The topic.",
    "partition": "The partition.",
    "offset": "The offset.",
    "timestamp": "The producer's or the broker's time; null when there is none.",
    "timestampType": "0 if the producer set the timestamp, 1 if the broker did when it appended the record.",
    "key": "The key's bytes, or null.",
    "value": "The value's bytes, or null.",
    "headers": "Keys and values in the producer's order; a key may come twice.",
    "delivery_count": "How often the record was delivered, this time included.",
}


def _spark_type(kind: Any) -> str:
    return f"`{from_arrow_type(kind).simpleString()}`"


def _meanings(kind: type[enum.Enum]) -> Iterator[str]:
    yield from _table_head("Name", "Meaning")
    for name, meaning in _documented(kind).items():
        yield _row(_worded(kind[name]), meaning)


def _documented(kind: type[enum.Enum]) -> Mapping[str, str]:
    """The members of an enumeration with the docstrings that follow them in its source."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)  # noqa: S101 - it is the source of a class
    found: dict[str, str] = {}
    for statement, after in zip(definition.body, [*definition.body[1:], None], strict=True):
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            is_described = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            found[statement.targets[0].id] = str(after.value.value) if is_described else ""
    return found


def _worded(member: enum.Enum) -> str:
    return member.name.lower().replace("_", " ")


def _transitions(
    states: type[enum.Enum],
    events: type[enum.Enum],
    table: Mapping[tuple[Any, Any], enum.Enum],
    named: Callable[[enum.Enum], str] = _worded,
) -> Iterator[str]:
    """One row for each event that can happen in a state."""
    yield from _table_head("State", "Event", "Next state")
    for state in states:
        for event in events:
            after = table.get((state, event))
            if after is not None:
                target = "(unchanged)" if after is state else named(after)
                yield _row(f"**{named(state)}**", _worded(event), target)


def _own(error: type[KafkaGroupsError]) -> Iterator[type[KafkaGroupsError]]:
    for child in error.__subclasses__():
        if child.__module__ == KafkaGroupsError.__module__:
            if BrokerError not in child.__bases__:  # those have a table of their own
                yield child
            yield from _own(child)


def _first_line(error: type[KafkaGroupsError]) -> str:
    return (error.__doc__ or "").split("\n", 1)[0]


def _since(name: str, has_key: Callable[[Profile, str], bool]) -> str:
    """The first release that has a key, if there are others before it."""
    releases = [profile.name for profile in PROFILES.values() if has_key(profile, name)]
    return f"Kafka {releases[0]}" if releases and len(releases) < len(PROFILES) else ""


def _entries(prefix: str, keys: Iterable[Key], since: Callable[[str], str] = lambda _name: "") -> Iterator[str]:
    for key in keys:
        yield from _entry(prefix, key, since=since(key.name))


def _entry(prefix: str, key: Key, *, keyword: str = "", since: str = "") -> Iterator[str]:
    """A heading for one key, what the key does, and its facts. A table of all facts is too wide for most screens."""
    yield from ("", f"#### `{key.name}` {{ #{prefix}-{key.name} }}", "", key.doc, "")
    facts = {
        "Keyword": f"`{keyword}`" if keyword else "",
        "Also accepted": ", ".join(f"`{alias}`" for alias in key.aliases),
        "Type": key.type.name.lower() + (f" ({key.unit})" if key.unit else ""),
        "Default": _default(key),
        "Allowed": key.allowed.removesuffix(f" ({key.unit})"),
        "Since": since,
    }
    yield " · ".join(f"**{name}:** {fact}" for name, fact in facts.items() if fact)
    yield from ("{ .facts }", "")


def _default(key: Key) -> str:
    if key.required:
        return "none, required"
    return "none" if key.default is None else f"`{key.format(key.default) or '(empty)'}`"


def _table_head(*columns: str) -> Iterator[str]:
    yield _row(*columns)
    yield _row(*("---" for _ in columns))


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


_GENERATORS: dict[str, Callable[[], Iterator[str]]] = {
    "documents": documents,
    "document-lines": document_lines,
    "share-consumer": share_consumer,
    "admin-client": admin_client,
    "streams-member": streams_member,
    "streams-application": streams_application,
    "application-producer": application_producer,
    "application-consumers": application_consumers,
    "refused-by-applications": refused_by_applications,
    "ignored-in-streams-groups": ignored_in_streams_groups,
    "streams-member-states": streams_member_state,
    "streams-member-transitions": streams_member_transition,
    "classic-member-transitions": classic_member_transition,
    "consumer-metrics": consumer_metrics,
    "streams-member-metrics": streams_member_metrics,
    "application-metrics": application_metrics,
    "records-metrics": records_metrics,
    "coordinator-metrics": coordinator_metrics,
    "absent-metrics": absent_metrics,
    "broker-metrics": broker_metrics,
    "exported-workers": exported_workers,
    "exported-consumers": exported_consumers,
    "exported-members": exported_members,
    "exported-applications": exported_applications,
    "exported-spark": exported_spark,
    "exported-brokers": exported_brokers,
    "forbidden": forbidden,
    "foreign": foreign,
    "share-group": share_group,
    "broker": broker,
    "topic": topic,
    "broker-errors": broker_errors,
    "own-errors": own_errors,
    "consumer-states": consumer_state,
    "member-states": member_state,
    "member-transitions": member_transition,
    "classic-group-states": classic_group_state,
    "classic-group-transitions": classic_group_transition,
    "consumer-group-states": consumer_group_state,
    "consumer-group-transitions": consumer_group_transition,
    "transaction-states": transaction_state,
    "writer-states": writer_state,
    "writer-transitions": writer_transition,
    "transaction-transitions": transaction_transition,
    "streams-group-states": streams_group_state,
    "streams-group-transitions": streams_group_transition,
    "record-events": record_event,
    "record-transitions": record_transition,
    "served-apis": served_api,
    "unsupported": unsupported,
    "spark-columns": spark_columns,
    "spark-source-options": spark_source_options,
    "spark-source-counts": spark_source_counts,
}
