"""Groups of streams applications as programs read them."""

import json

from jsonschema import Draft202012Validator

from kafka_groups.admin import (
    StreamsGroupDescription,
    StreamsGroupMemberDescription,
    StreamsGroupTasks,
    StreamsInternalTopic,
    StreamsSubtopologyDescription,
    StreamsTopologyDescription,
)
from kafka_groups.cli.admin.streams_groups.description_entries import streams_contents
from kafka_groups.cli.documents.document import document_text, schema_of
from kafka_groups.cli.documents.streams_groups import StreamsGroupContents
from kafka_groups.errors import OperationTimeoutError
from kafka_groups.types import TopicPartition
from tests.unit.cli.admin.streams_groups.test_classic_group_lines import GROUP

MEMBER = StreamsGroupMemberDescription(
    member_id="m",
    epoch=4,
    process_id="p",
    instance_id=None,
    rack="r",
    client_id="c",
    client_host="/h",
    user_endpoint=("h", 7),
    client_tags={"zone": "a"},
    topology_epoch=0,
    assignment=StreamsGroupTasks(active={"1": frozenset({0}), "0": frozenset({1, 0})}),
    target_assignment=StreamsGroupTasks(standby={"1": frozenset({0})}),
    task_offsets={"1": {0: 5}},
    task_end_offsets={"1": {0: 8}},
    is_classic=False,
)
CHANGELOG = StreamsInternalTopic(name="app-s-changelog", partitions=None, replication_factor=None, configs={})
PART = StreamsSubtopologyDescription(subtopology_id="1", source_topics=("orders",), changelogs=(CHANGELOG,))
STREAMS = StreamsGroupDescription(
    group_id="words",
    state="Stable",
    epoch=3,
    assignment_epoch=2,
    assignor="sticky",
    topology=StreamsTopologyDescription(0, (PART,)),
    members=(MEMBER,),
    lag={TopicPartition("orders", 0): 3},
)
LATE = StreamsGroupDescription(
    group_id="late",
    state="Empty",
    epoch=1,
    assignment_epoch=1,
    assignor=None,
    topology=None,
    members=(),
    lag_error=OperationTimeoutError("too slow"),
)


def test_groups_of_both_protocols() -> None:
    document = json.loads(document_text([streams_contents(each) for each in (STREAMS, LATE, GROUP)], []))
    Draft202012Validator(schema_of(StreamsGroupContents)).validate(document)
    words, late, app = document["items"]
    assert words == {
        "group": "words",
        "protocol": "streams",
        "state": "Stable",
        "lag": 3,
        "lag_error": None,
        "partitions": [{"topic": "orders", "partition": 0, "lag": 3}],
        "epoch": 3,
        "assignment_epoch": 2,
        "assignor": "sticky",
        "subtopologies": [
            {
                "subtopology": "1",
                "sources": ["orders"],
                "repartition_sources": [],
                "repartition_sinks": [],
                "changelogs": [{"topic": "app-s-changelog", "partitions": None}],
            }
        ],
        "members": [
            {
                "member": "m",
                "process": "p",
                "instance": None,
                "rack": "r",
                "client": "c",
                "host": "/h",
                "endpoint": "h:7",
                "client_tags": {"zone": "a"},
                "epoch": 4,
                "classic": False,
                "tasks": {"active": ["0_0", "0_1", "1_0"], "standby": [], "warmup": []},
                "target": {"active": [], "standby": ["1_0"], "warmup": []},
                "changelog_lags": {"1_0": 3},
            }
        ],
    }
    assert (late["subtopologies"], late["lag"], late["lag_error"]) == (None, None, "too slow")
    assert {name: app[name] for name in ("group", "protocol", "state", "lag", "lag_error")} == {
        "group": "app", "protocol": "classic", "state": "Stable", "lag": 5, "lag_error": None
    }  # fmt: skip
    busy, idle = app["members"]
    assert busy == {
        "member": "m-1",
        "process": "p-1",
        "instance": "i",
        "rack": "r",
        "client": "c-1",
        "host": "/h",
        "endpoint": "h:7",
        "client_tags": {"zone": "a", "kind": "b"},
        "version": 10,
        "latest_version": 11,
        "generation": 3,
        "owned": ["0_0"],
        "running": ["0_0"],
        "changelog_positions": {"0_1": None, "1_0": 12},
        "requests_shutdown": False,
        "tasks": {"active": ["0_0", "0_1"], "standby": ["1_0"], "warmup": []},
        "assigned_version": 11,
        "common_version": 11,
        "error": 0,
        "rejoins_at_once": False,
        "next_rebalance_ms": 1769860801000,
    }
    assert (idle["endpoint"], idle["rejoins_at_once"], idle["next_rebalance_ms"]) == (None, True, None)
