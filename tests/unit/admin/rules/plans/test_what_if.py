"""Changes of groups, checked before any broker is asked."""

from typing import Any

import pytest

from kafka_groups.admin import PlannedProcess
from kafka_groups.admin.rules.plans.what_if import checked_what_if
from kafka_groups.errors import ConfigurationError


@pytest.mark.parametrize(
    ("text", "process"),
    [
        ("", PlannedProcess()),
        ("threads=2", PlannedProcess(threads=2)),
        ("rack=a, threads=3", PlannedProcess(threads=3, rack="a")),
        ("rack=a,tag.zone=b,tag.k=c=d", PlannedProcess(rack="a", client_tags={"zone": "b", "k": "c=d"})),
    ],
)
def test_a_process_is_read(text: str, process: PlannedProcess) -> None:
    assert PlannedProcess.parse(text) == process


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("threads", "Invalid part 'threads' of the process 'threads'"),
        ("rack=", "Invalid part 'rack='"),
        ("rack=a,rack=b", "Invalid part 'rack=b'"),
        ("threads=0", "Invalid number of threads '0'"),
        ("threads=x", "Invalid number of threads 'x'"),
        ("threads=²", "Invalid number of threads '²'"),
        ("zone=b", "Unknown key 'zone'"),
        ("tag.=b", "Unknown key 'tag.'"),
    ],
)
def test_a_process_that_cannot_be_read_is_named_with_the_form(text: str, complaint: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        PlannedProcess.parse(text)
    assert str(raised.value).startswith(complaint)
    assert str(raised.value).endswith("such as threads=2,rack=a,tag.zone=b.")


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"threads": 0}, "threads=0: a process"),
        ({"threads": True}, "threads=True"),
        ({"rack": 1}, "rack"),
        ({"client_tags": ["zone"]}, "client_tags=\\['zone'\\]"),
        ({"client_tags": {"zone": 1}}, "client_tags\\['zone'\\]"),
    ],
)
def test_values_of_a_process_are_checked(values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        PlannedProcess(**values)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"assignor": "nobody"}, "Unknown task assignor 'nobody'"),
        ({"assignor": 3}, "3 is not a task assignor"),
        ({"assignor": None}, "assignor=None: choose a task assignor. Only a plan of a classic group has a default"),
        ({"configs": {}}, "configs={}: brokers keep the configuration of a streams group"),
        ({"standby_replicas": -1}, "standby_replicas=-1: give a whole number"),
        ({"standby_replicas": True}, "standby_replicas=True"),
        ({"leaving": "m"}, "leaving='m': give a list of member ids"),
        ({"leaving": [1]}, "leaving"),
        ({"joining": 1}, "joining=1: give a list"),
        ({"joining": ["threads=2"]}, "joining: 'threads=2' is not a PlannedProcess"),
    ],
)
def test_a_change_is_checked(change: dict[str, Any], complaint: str) -> None:
    given = {"assignor": "sticky", "configs": None, "standby_replicas": None, "leaving": (), "joining": (), **change}
    with pytest.raises(ConfigurationError, match=complaint):
        checked_what_if(**given)
