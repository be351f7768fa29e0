"""The manifests for Kubernetes start the application with options and keys that exist, and agree with each other."""

import http.client
import re
import textwrap
from pathlib import Path
from typing import Any

import click
import pytest

from kafka_groups.cli.client_keys import client_keys
from kafka_groups.cli.main import main
from kafka_groups.config.clients.streams import StreamsConfig, streams_config
from kafka_groups.streams.workers.application_state import ApplicationLife, StreamsState
from kafka_groups.streams.workers.probe import ProbeServer
from tests.docs.blocks import ROOT
from tests.docs.plain_yaml import documents

FOLDER = ROOT / "examples" / "kubernetes"
PAGE = ROOT / "docs" / "how-to" / "streams" / "scale.md"
FILES = sorted(FOLDER.glob("*.yaml"))
POD = "words-0"


def of_kind(kind: str) -> Any:
    """The only object of a kind in all files."""
    found = [each for path in FILES for each in documents(path.read_text()) if isinstance(each, dict)]
    (only,) = (each for each in found if each["kind"] == kind)
    return only


@pytest.fixture(params=["Deployment", "StatefulSet"])
def workload(request: pytest.FixtureRequest) -> Any:
    """Each object that runs the application."""
    return of_kind(request.param)


def container_of(workload: Any) -> Any:
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    return container


def environment_of(workload: Any) -> dict[str, str]:
    """The variables of the container in a pod."""
    sources = {
        each["name"]: each["valueFrom"]["fieldRef"]["fieldPath"] for each in container_of(workload).get("env", [])
    }
    return {name: {"metadata.name": POD}[source] for name, source in sources.items()}


def arguments_of(workload: Any) -> list[str]:
    """The words after the name of the program, with variables replaced, as Kubernetes does it."""
    container, variables = container_of(workload), environment_of(workload)
    words = [*container["command"], *container["args"]]
    assert words[0] == "kafka-groups"
    return [re.sub(r"\$\((\w+)\)", lambda match: variables[match[1]], word) for word in words[1:]]


def mounted(workload: Any, path: Path) -> Any:
    """The volume that has a path in the container."""
    mounts = {Path(each["mountPath"]): each["name"] for each in container_of(workload)["volumeMounts"]}
    name = next(mounts[parent] for parent in (path, *path.parents) if parent in mounts)
    (volume,) = (each for each in workload["spec"]["template"]["spec"]["volumes"] if each["name"] == name)
    return volume


def options_of(workload: Any, folder: Path) -> dict[str, Any]:
    """The options as the command understands them, with the file of the ConfigMap in place of the mounted one."""
    arguments = arguments_of(workload)
    (mounted_at,) = (Path(each.removeprefix("--config=")) for each in arguments if each.startswith("--config="))
    config_map = of_kind("ConfigMap")
    assert mounted(workload, mounted_at)["configMap"]["name"] == config_map["metadata"]["name"]
    saved = folder / mounted_at.name
    saved.write_text(config_map["data"][mounted_at.name])
    given = [each.replace(str(mounted_at), str(saved)) for each in arguments]
    name, command, rest = main.resolve_command(click.Context(main), given)
    while isinstance(command, click.Group):
        name, command, rest = command.resolve_command(click.Context(command), rest)
    assert command is not None
    assert name == "run"
    return command.make_context(name, rest).params


def configuration_of(workload: Any, folder: Path) -> StreamsConfig:
    """The configuration that the application gets."""
    options = options_of(workload, folder)
    keys = client_keys(options["config"], options["bootstrap_servers"])
    pairs = dict(pair.split("=", 1) for pair in options["pairs"])
    return streams_config({**keys, **pairs, "probe.address": options["probe_address"]})


def probes_of(workload: Any) -> list[Any]:
    """The liveness probe and the readiness probe."""
    return [container_of(workload)[name] for name in ("livenessProbe", "readinessProbe")]


def ports_of_probes(workload: Any) -> list[Any]:
    """The ports of the container that the probes name."""
    ports = {each["name"]: each for each in container_of(workload)["ports"]}
    return [ports[probe["httpGet"]["port"]] for probe in probes_of(workload)]


def status_of(port: int, path: str) -> int:
    """The status of the answer to a request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_application_gets_keys_that_it_has(workload: Any, tmp_path: Path) -> None:
    config = configuration_of(workload, tmp_path)
    assert config.application_id == "words"
    is_static = workload["kind"] == "StatefulSet"
    assert config.group_instance_id == (POD if is_static else None)


def test_the_state_directory_is_a_volume_that_can_be_written_to(workload: Any, tmp_path: Path) -> None:
    volume = mounted(workload, Path(configuration_of(workload, tmp_path).state_dir))
    assert volume["emptyDir"] == {}


def test_every_worker_has_a_core(workload: Any, tmp_path: Path) -> None:
    cores = container_of(workload)["resources"]["requests"]["cpu"]
    assert int(cores) == configuration_of(workload, tmp_path).num_workers


def test_the_probes_ask_where_the_application_answers(workload: Any, tmp_path: Path) -> None:
    address = configuration_of(workload, tmp_path).probe_address
    assert address is not None
    host, port = address
    assert host == "0.0.0.0"
    assert {each["containerPort"] for each in ports_of_probes(workload)} == {port}


@pytest.mark.parametrize(
    ("state", "live", "ready"),
    [(StreamsState.REBALANCING, 200, 503), (StreamsState.RUNNING, 200, 200), (StreamsState.ERROR, 503, 503)],
)
def test_the_paths_of_the_probes_are_answered(workload: Any, state: StreamsState, live: int, ready: int) -> None:
    life = ApplicationLife(None)
    server = ProbeServer(("127.0.0.1", 0), life)
    try:
        life.enter(state)
        answers = [status_of(server.port, probe["httpGet"]["path"]) for probe in probes_of(workload)]
    finally:
        server.close()
    assert answers == [live, ready]


def test_the_pods_are_those_that_the_workload_selects(workload: Any) -> None:
    labels = workload["spec"]["template"]["metadata"]["labels"]
    assert workload["spec"]["selector"]["matchLabels"] == labels
    assert of_kind("Service")["spec"]["selector"] == labels
    assert of_kind("StatefulSet")["spec"]["serviceName"] == of_kind("Service")["metadata"]["name"]


def test_the_page_shows_parts_of_the_files() -> None:
    shown = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(shown) >= 2
    files = [path.read_text() for path in FILES]
    assert [part for part in shown if not any(part in text for text in files)] == []


@pytest.mark.parametrize(
    "text",
    [
        "a: [b",
        "a:\n  b: 1\n c: 2\n",
        "a: 1\na: 2\n",
        "a: &b c\n",
        "a: 'b'\n",
        "a: b: c\n",
        "- a\nb: 1\n",
        "a:\nb: 1\n",
        "\ta: 1\n",
    ],
)
def test_yaml_that_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        documents(text)


def test_yaml_is_read() -> None:
    text = """
        # A comment
        a: 1
        b:
          - c: "d: e"
            f: [g, "h:i"]
          - j
        k: |
          l=m
          n=o
        p: {}
        q: true
        r:
          - s: t
    """
    assert documents(textwrap.dedent(text)) == [
        {"a": 1, "b": [{"c": "d: e", "f": ["g", "h:i"]}, "j"], "k": "l=m\nn=o\n", "p": {}, "q": True, "r": [{"s": "t"}]}
    ]
