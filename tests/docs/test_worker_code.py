"""The documentation's workers handle every order and stop at a signal."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from click.testing import CliRunner

from kafka_groups import Worker
from kafka_groups.cli.main import main
from kafka_groups.testing import EmbeddedCluster, KafkaProcess
from tests.docs.blocks import ROOT, Program, programs
from tests.docs.running import ORDERS, PROMPT, ended, produce_orders, start
from tests.support.kafka.real_kafka import unique

GROUP, TOPIC, DEAD_LETTERS = "invoices", "orders", "orders.dead"
OUTPUTS = ("invoices", "audit")
OTHERS = ("refunds",)
WORKERS = [program for program in programs() if program.run and program.runs_worker]
FIRST = next(program for program in WORKERS if program.page == ROOT / "README.md")
CUSTOMER = re.compile(r'"?customer"?:? (\d)')
OF_EACH_ORDER = {str(number) for number in range(ORDERS)}


FAST = ("README.md", "batches.md")


def slow_but_some(program: Program) -> Any:
    is_first = program is next(each for each in WORKERS if each.page == program.page)
    is_fast = is_first and program.page.name in FAST
    return pytest.param(program, marks=[] if is_fast else [pytest.mark.slow])


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings=PROMPT) as cluster:
        cluster.create_topic(TOPIC)
        for topic in (DEAD_LETTERS, *OUTPUTS, *OTHERS):
            cluster.create_topic(topic)
        produce_orders(TOPIC, cluster.bootstrap_servers)
        yield cluster


def configure(program: Program, cluster: EmbeddedCluster) -> None:
    """Do what the page leaves to the group's configuration, and to the command that creates topics."""
    if "start=" not in program.code:
        cluster.alter_group_configs(GROUP, {"share.auto.offset.reset": "earliest"})
    if "retry_topics=" in program.code:
        create_topics(program, cluster)


def create_topics(program: Program, cluster: EmbeddedCluster) -> None:
    """Create the retry topics of a program, as the page does with --create-topics."""
    shop: dict[str, Any] = {"__name__": "shop"}
    exec(program.code.replace("localhost:9092", cluster.bootstrap_servers), shop)
    worker: Worker = shop["worker"]
    assert worker.create_topics()


def test_there_are_workers_on_many_pages() -> None:
    assert len({program.page for program in WORKERS}) >= 6
    assert FIRST.code.splitlines()[0] == "from kafka_groups import Worker, serdes"


@pytest.mark.parametrize("program", [slow_but_some(each) for each in WORKERS], ids=str)
def test_worker_handles_each_order_and_stops_at_a_signal(
    program: Program, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    configure(program, cluster)
    process = start(program, cluster.bootstrap_servers, tmp_path)
    try:
        cluster.group(GROUP).wait_until_accepted(ORDERS, timeout=60)
    finally:
        process.send_signal(signal.SIGTERM)
        output, errors = ended(process)
    assert (process.returncode, errors) == (0, ""), output
    assert set(CUSTOMER.findall(output)) == OF_EACH_ORDER
    assert cluster.group(GROUP).members == []


@pytest.mark.slow
def test_second_interrupt_is_not_needed(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    process = start(FIRST, cluster.bootstrap_servers, tmp_path)
    cluster.group(GROUP).wait_until_accepted(ORDERS, timeout=60)
    process.send_signal(signal.SIGINT)
    assert (ended(process)[1], process.returncode) == ("", 0)


def test_first_example_handles_what_is_in_a_topic_of_a_real_kafka(real_kafka: KafkaProcess, tmp_path: Path) -> None:
    servers, topic, group = real_kafka.bootstrap_servers, unique(TOPIC), unique(GROUP)
    produce_orders(topic, servers)
    code = FIRST.code.replace(f'"{TOPIC}"', repr(topic)).replace(f'"{GROUP}"', repr(group))
    process = start(evolve(FIRST, code=code), servers, tmp_path)
    assert process.stdout is not None
    shown = ""
    while set(CUSTOMER.findall(shown)) != OF_EACH_ORDER:
        shown += process.stdout.readline()
        assert process.poll() is None, ended(process)
    process.send_signal(signal.SIGTERM)
    assert (ended(process)[1], process.returncode) == ("", 0)


@pytest.mark.slow
def test_results_of_the_page_are_in_their_topics(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    written: dict[int, int] = {}
    for program in (program for program in WORKERS if program.page.name == "outputs.md"):
        before = sum(len(cluster.records(topic)) for topic in OUTPUTS)
        group = f"{GROUP}-{program.line}"
        cluster.alter_group_configs(group, {"share.auto.offset.reset": "earliest"})
        code = program.code.replace(f'Worker("{GROUP}"', f'Worker("{group}"')
        process = start(evolve(program, code=code), cluster.bootstrap_servers, tmp_path)
        cluster.group(group).wait_until_accepted(ORDERS, timeout=60)
        process.send_signal(signal.SIGTERM)
        assert (ended(process)[1], process.returncode) == ("", 0)
        written[program.line] = sum(len(cluster.records(topic)) for topic in OUTPUTS) - before
    # One result for each order, two kinds of invoices, two topics, a batch, and one with the place of its order.
    assert list(written.values()) == [ORDERS, 2 * ORDERS, 2 * ORDERS, ORDERS, ORDERS]
    records = cluster.records("invoices")
    assert {record.value for record in records} >= {f'{{"customer":{n},"total":5.0}}'.encode() for n in range(ORDERS)}
    assert {record.key for record in records} == {None, b"bills", b"receipts"}
    origins = [dict(record.headers) for record in records if record.headers]
    offsets = {int(headers["__origin.offset"] or b"") for headers in origins if "__origin.offset" in headers}
    assert offsets == set(range(ORDERS))


@pytest.mark.slow
def test_dead_letters_of_the_page_are_written_and_sent_again(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    (worker,) = (program for program in programs() if program.page.name == "dead-letters.md")
    cluster.alter_group_configs(GROUP, {"share.auto.offset.reset": "earliest"})
    cluster.produce(TOPIC, ["nobody's order"], headers=[("trace", b"1")])
    process = start(worker, cluster.bootstrap_servers, tmp_path)
    cluster.group(GROUP).wait_until_rejected(1, timeout=60)
    process.send_signal(signal.SIGTERM)
    assert (
        "gave up orders-0@3, which is copied to orders.dead and rejected: the order has no customer"
        in ended(process)[1]
    )
    (letter,) = cluster.records(DEAD_LETTERS)
    assert dict(letter.headers)["__dlq.errors.message"] == b"the order has no customer"
    sending = ["dead-letters", "send-again", DEAD_LETTERS, "--yes", "--bootstrap-servers", cluster.bootstrap_servers]
    done = CliRunner().invoke(main, sending)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "TO      SENT\norders     1\n", "")
    again = cluster.records(TOPIC)[-1]
    assert (again.offset, again.value) == (4, b"nobody's order")
    assert again.headers == (("trace", b"1"), ("__dlq.sent.again", b"1"))


@pytest.mark.slow
def test_program_that_notices_the_end_of_its_worker_prints_why(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    (program,) = (each for each in programs() if each.page.name == "embed.md" and "OnError.STOP" in each.code)
    cluster.alter_group_configs(GROUP, {"share.auto.offset.reset": "earliest"})
    process = start(program, cluster.bootstrap_servers, tmp_path)
    output, errors = ended(process)
    assert (process.returncode, output.startswith("stopped: no customer for ")) == (0, True), errors
    assert "the worker stops because of orders-0@0: LookupError" in errors
    assert cluster.group(GROUP).accepted == []
