"""The pages about telemetry, the dashboard and the alerts have the names of the table, and no others."""

import json
import re
from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest

from kafka_groups.share.workers.rules.window import NOT_READY_AT, WARN_AT
from kafka_groups.telemetry.families import HANDLER_FAMILIES, Family, MetricKind
from tests.docs.blocks import ROOT
from tests.docs.hooks import hook_named
from tests.docs.plain_yaml import documents
from tests.unit.telemetry.tables import FAMILIES, all_families

DASHBOARD = ROOT / "docs" / "dashboards" / "kafka-groups.json"
ALERTS = ROOT / "docs" / "dashboards" / "alerts.yaml"
MONITORING = ROOT / "docs" / "how-to" / "monitoring.md"
REFERENCE = ROOT / "docs" / "reference" / "telemetry.md"

OF_PROMETHEUS = {"le", "__name__"}
_METRIC = re.compile(r"\bkafka_\w+")
_MATCHERS = re.compile(r"\{([^}]*)\}")
_GROUPINGS = re.compile(r"\b(?:by|on|without) \(([^)]*)\)")
_TEMPLATE = re.compile(r"\{\{ ?(?:\$labels\.)?(\w+) ?\}\}")


def sample_names() -> dict[str, Family]:
    """The names that a scrape shows, with the metrics that they belong to."""
    found: dict[str, Family] = {}
    for family in FAMILIES.values():
        suffixes = ("_bucket", "_sum", "_count") if family.kind is MetricKind.HISTOGRAM else ("",)
        found |= {family.name + suffix: family for suffix in suffixes}
    return found


SAMPLES = sample_names()


def metrics_of(query: str) -> set[str]:
    return set(_METRIC.findall(query))


def labels_of(query: str) -> set[str]:
    """The labels by which a query selects or groups."""
    selected = {name for text in _MATCHERS.findall(query) for name in re.findall(r"(\w+) ?(?:=|!)", text)}
    grouped = {name for text in _GROUPINGS.findall(query) for name in re.findall(r"\w+", text)}
    return selected | grouped


def problems_of(query: str, template: str = "") -> list[str]:
    """What a query, or a text with labels about its result, names that does not exist."""
    used = metrics_of(query)
    if not used:
        return [f"no metric in {query!r}"]
    known = OF_PROMETHEUS | {label for name in used & SAMPLES.keys() for label in SAMPLES[name].labels}
    shown = set(_TEMPLATE.findall(template))
    unknown = (labels_of(query) | shown) - known
    lost = shown - {name for text in _GROUPINGS.findall(query) for name in re.findall(r"\w+", text)}
    return [
        *sorted(used - SAMPLES.keys()),
        *sorted(unknown),
        *(f"{label} is aggregated away" for label in sorted(lost)),
    ]


@pytest.mark.parametrize(
    ("query", "template", "problems"),
    [
        ("sum(kafka_share_consumer_state)", "", []),
        ("sum(kafka_share_consumer_stat)", "", ["kafka_share_consumer_stat"]),
        ("kafka_groups_worker_handler_seconds", "", ["kafka_groups_worker_handler_seconds"]),
        ("rate(kafka_groups_worker_handler_seconds_sum[5m])", "", []),
        ('kafka_share_consumer_state{gruop="a"}', "", ["gruop"]),
        ("sum by (gruop) (kafka_share_consumer_state)", "", ["gruop"]),
        ("sum by (group) (kafka_share_consumer_state)", "{{ $labels.client_id }}", ["client_id is aggregated away"]),
        ("up == 0", "", ["no metric in 'up == 0'"]),
    ],
)
def test_wrong_names_are_found(query: str, template: str, problems: list[str]) -> None:
    assert problems_of(query, template) == problems


# ----------------------------------------------------------------------------------------------- the dashboard


def board() -> dict[str, Any]:
    found = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


PANELS = [panel for panel in board()["panels"] if panel["type"] != "row"]


def targets() -> Iterator[tuple[str, str]]:
    for panel in PANELS:
        for target in panel["targets"]:
            yield target["expr"], target["legendFormat"]


@pytest.mark.parametrize(("query", "legend"), list(targets()))
def test_a_panel_shows_what_exists(query: str, legend: str) -> None:
    assert problems_of(query, legend) == []


@pytest.mark.parametrize("query", [query for query, _ in targets()])
def test_a_panel_is_promql(query: str) -> None:
    parsed = promql_parser.parse(query.replace("$__rate_interval", "5m"))
    assert not isinstance(parsed, promql_parser.StringLiteral)


def test_the_variables_of_the_dashboard_are_filled_from_what_exists() -> None:
    queries = {each["name"]: each["definition"] for each in board()["templating"]["list"] if each["type"] == "query"}
    assert queries.keys() == {"group", "application"}
    for query in queries.values():
        assert metrics_of(query)
        assert metrics_of(query) <= SAMPLES.keys()
    text = DASHBOARD.read_text(encoding="utf-8")
    assert set(re.findall(r"\$(\w+)", text)) == {"group", "application", "__rate_interval", "__all"}


def test_every_metric_of_a_worker_is_on_the_dashboard() -> None:
    used = {SAMPLES[name].name for query, _ in targets() for name in metrics_of(query)}
    assert {family.name for family in HANDLER_FAMILIES.values()} <= used


def test_panels_are_explained_and_do_not_overlap() -> None:
    panels = board()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(panel["description"].endswith(".") for panel in PANELS)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) == 23


# -------------------------------------------------------------------------------------------------- the alerts


def rules() -> list[dict[str, Any]]:
    """The alerts in the order of the file."""
    (document,) = documents(ALERTS.read_text(encoding="utf-8"))
    found: Any = document
    return [rule for group in found["groups"] for rule in group["rules"]]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_an_alert_asks_for_what_exists(rule: dict[str, Any]) -> None:
    assert problems_of(rule["expr"], rule["annotations"]["summary"]) == []
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert re.search(r"(>=?|<|==) [\d.]+\n$", rule["expr"])


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_an_alert_is_promql_and_compares(rule: dict[str, Any]) -> None:
    parsed = promql_parser.parse(rule["expr"])
    assert isinstance(parsed, promql_parser.BinaryExpr)


def test_the_page_explains_each_alert() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \|$", MONITORING.read_text(encoding="utf-8"), re.MULTILINE)
    explained = [(name, reason, remedy) for name, reason, remedy in rows if name != name.upper()]
    assert [name for name, _, _ in explained] == [rule["alert"] for rule in rules()]
    assert all(reason.endswith(".") and remedy.endswith(".") for _, reason, remedy in explained)


def test_alerts_about_the_window_come_when_the_worker_warns() -> None:
    expressions = {rule["alert"]: rule["expr"] for rule in rules()}
    assert expressions["WorkerWindowHalfFull"].endswith(f"> {WARN_AT}\n")
    assert expressions["WorkerWindowFull"].endswith(f">= {NOT_READY_AT}\n")


# ----------------------------------------------------------------------------------------------- the reference


def test_the_reference_lists_the_table() -> None:
    made = hook_named("reference").on_page_markdown(REFERENCE.read_text(encoding="utf-8"))
    rows = re.findall(r"^\| `(\w+)` \| (counter|gauge|histogram|info) \| (.*) \| (.+) \| (.+) \|$", made, re.MULTILINE)
    assert sorted(name for name, *_ in rows) == sorted(family.name for family in all_families())
    for name, kind, labels, unit, meaning in rows:
        family = FAMILIES[name]
        assert (kind, unit, meaning) == (family.kind.value, family.unit, family.doc)
        named = re.findall(r"`(\w+)`", labels)
        assert set(family.labels) - {"group", "client_id", "application_id", "node_id"} == set(named)
