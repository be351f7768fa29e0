"""The manifest of a worker starts it with options that exist, and gives it enough time to stop."""

import re
from typing import Any

import click
import pytest

from kafka_groups.cli.main import main
from kafka_groups.share.workers.running.observation.probe import checked_probe_address
from tests.docs.blocks import ROOT, programs
from tests.docs.plain_yaml import documents

PAGE = ROOT / "docs" / "how-to" / "workers" / "kubernetes.md"
FILE = ROOT / "examples" / "kubernetes" / "worker" / "deployment.yaml"
DEFAULT_GRACE_S = 30
TIME_TO_LEAVE_S = 5


@pytest.fixture
def pod() -> Any:
    (deployment,) = documents(FILE.read_text())
    assert isinstance(deployment, dict)
    spec: Any = deployment["spec"]
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    return spec["template"]["spec"]


def options_of(container: Any) -> dict[str, Any]:
    """The options as the command understands them."""
    words = [*container["command"], *container.get("args", [])]
    assert words[0] == "kafka-groups"
    name, command, rest = main.resolve_command(click.Context(main), words[1:])
    assert command is not None
    return command.make_context(name, rest).params


def test_containers_start_and_check_the_same_worker(pod: Any) -> None:
    (check,), (container,) = pod["initContainers"], pod["containers"]
    checked, started = options_of(check), options_of(container)
    assert (checked["worker"], checked["check"]) == (started["worker"], True)
    assert (started["check"], check["image"]) == (False, container["image"])
    assert str(started["processes"]) == container["resources"]["requests"]["cpu"]


def test_probes_and_scrapes_ask_where_the_worker_answers(pod: Any) -> None:
    (container,) = pod["containers"]
    address = checked_probe_address(options_of(container)["probe_address"])
    (port,) = container["ports"]
    assert address == ("0.0.0.0", port["containerPort"])
    probes = [container["livenessProbe"], container["readinessProbe"]]
    assert [probe["httpGet"] for probe in probes] == [
        {"path": "/live", "port": port["name"]},
        {"path": "/ready", "port": port["name"]},
    ]
    assert f'prometheus.io/port: "{port["containerPort"]}"' in FILE.read_text()


def test_grace_period_is_longer_than_the_shutdown_of_the_page(pod: Any) -> None:
    (program,) = (each for each in programs() if each.page == PAGE and each.runs_worker)
    found = re.search(r"shutdown_timeout=(\d+)", program.code)
    assert found is not None
    assert int(pod["terminationGracePeriodSeconds"]) >= int(found[1]) + TIME_TO_LEAVE_S
    assert f"terminationGracePeriodSeconds` ({DEFAULT_GRACE_S} by default)" in PAGE.read_text()


def test_the_page_shows_parts_of_the_manifest() -> None:
    shown = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    manifest = [part for part in shown if "triggers:" not in part]
    assert len(manifest) == 4
    assert [part for part in manifest if part not in FILE.read_text()] == []
