"""Answers about a worker's health and metrics."""

import http.client
import json
import socket
import sys

import pytest

from kafka_groups import Worker, telemetry
from kafka_groups.errors import ConfigurationError
from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.running.observation.probe import answering_probes, checked_probe_address


class FixedHealth(Worker):
    """A worker whose health is set."""

    fixed = Health()

    def health(self) -> Health:
        return self.fixed


@pytest.fixture
def worker() -> FixedHealth:
    worker = FixedHealth("shop", bootstrap_servers="localhost:9092")
    worker._telemetry.handler("invoice").settled("accepted", 3)
    return worker


def asked(worker: FixedHealth, path: str) -> tuple[int, str, str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    with answering_probes(f"127.0.0.1:{port}", worker, worker._telemetry):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", path)
        response = connection.getresponse()
        found = response.status, response.headers.get_content_type(), response.read().decode()
        connection.close()
        return found


@pytest.mark.parametrize(
    ("health", "live", "ready"),
    [
        (Health(), (200, "live\n"), (200, "ready\n")),
        (Health(is_ready=False, reasons=("a is slow", "b is slow")), (200, "live\n"), (503, "a is slow\nb is slow\n")),
        (Health(False, False, ("a hangs",)), (503, "a hangs\n"), (503, "a hangs\n")),
    ],
)
def test_health_is_a_status_with_reasons(
    worker: FixedHealth, health: Health, live: tuple[int, str], ready: tuple[int, str]
) -> None:
    worker.fixed = health
    assert asked(worker, "/live") == (live[0], "text/plain", live[1])
    assert asked(worker, "/ready") == (ready[0], "text/plain", ready[1])


def test_metrics_are_those_of_the_worker(worker: FixedHealth) -> None:
    status, kind, text = asked(worker, "/metrics")
    assert (status, kind) == (200, "text/plain")
    line = 'kafka_groups_worker_records_total{group="shop",handler="invoice",outcome="accepted",process="0"} 3.0'
    assert line in text.splitlines()


def test_the_status_is_a_document_and_a_page(worker: FixedHealth) -> None:
    worker.fixed = Health(is_ready=False, reasons=("a is slow",))
    worker.handler("orders", name="invoice")(lambda value: None)
    worker._telemetry.handler("invoice").in_hand({"running": 3})
    status, kind, text = asked(worker, "/status")
    assert (status, kind) == (200, "application/json")
    found = json.loads(text)
    assert (found["group"], found["is_ready"], found["reasons"]) == ("shop", False, ["a is slow"])
    assert [(each["name"], each["in_flight"]["running"]) for each in found["handlers"]] == [("invoice", 3)]
    status, kind, text = asked(worker, "/")
    assert (status, kind) == (200, "text/html")
    assert "<li>a is slow</li>" in text


def test_names_that_are_no_characters_are_answered(worker: FixedHealth) -> None:
    worker.handler("orders", name="half \ud800")(lambda value: None)
    assert "half \\ud800" in asked(worker, "/")[2]
    assert json.loads(asked(worker, "/status")[2])["handlers"][0]["name"] == "half \ud800"


def test_without_prometheus_the_answer_says_what_to_install(
    worker: FixedHealth, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert telemetry.prometheus is not None  # whose first use would import it again after it is taken out
    monkeypatch.delattr(telemetry, "prometheus")
    monkeypatch.delitem(sys.modules, "kafka_groups.telemetry.prometheus")
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    status, _, text = asked(worker, "/metrics")
    assert status == 501
    assert "pip install '.[prometheus]'" in text


def test_addresses_are_a_port_or_a_host_and_a_port() -> None:
    assert checked_probe_address(":8081") == ("0.0.0.0", 8081)
    assert checked_probe_address("[::1]:8081") == ("::1", 8081)
    assert checked_probe_address(None) is None


@pytest.mark.parametrize("address", ["8081", ":0", "host:", 8081, ""])
def test_other_addresses_are_refused(address: object) -> None:
    with pytest.raises(ConfigurationError, match=r"probe_address=.*ive host:port, or :port"):
        checked_probe_address(address)


@pytest.mark.parametrize("processes", [0, -1, 201, True, 1.5, "2", None])
def test_numbers_of_processes_that_make_no_sense_are_refused(worker: FixedHealth, processes: int) -> None:
    with pytest.raises(ConfigurationError, match=r"processes=.*give a whole number from 1 to 200"):
        worker.run(processes)
