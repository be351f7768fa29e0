"""Workers in a table: a row for each handler, or for a worker that does not answer."""

import json

import attrs
from attrs import evolve

from kafka_groups.cli.documents.document import ErrorEntry
from kafka_groups.cli.documents.top import TopWorkerEntry
from kafka_groups.cli.top.worker_asking import ProbeAddress
from kafka_groups.cli.top.worker_source import WorkerSource, worker_lines
from tests.support.probe_servers import answering_status, port_of_nobody
from tests.support.worker_statuses import GOLDEN, busy_status, idle_handler

BUSY = TopWorkerEntry("worker", "a:8081", busy_status(), None)
SILENT = TopWorkerEntry("worker", "b:8081", None, ErrorEntry("worker b:8081", None, "no answer within 3 s", "Look."))

TABLE = GOLDEN / "top.txt"


def test_each_handler_is_a_row_and_a_worker_without_an_answer_is_one_too() -> None:
    assert list(worker_lines([BUSY, SILENT], None)) == TABLE.read_text(encoding="utf-8").splitlines()


def test_lines_are_cut_on_a_terminal() -> None:
    lines = worker_lines([BUSY, SILENT], 60)
    assert all(len(line) <= 60 for line in lines)
    assert lines[0].endswith("…")
    assert lines[-1] == "b:8081: no answer within 3 s. Look."


def test_a_worker_without_handlers_is_a_row() -> None:
    status = evolve(busy_status(), handlers=(), reasons=(), left_out=0, is_live=False)
    (_, row) = worker_lines([evolve(BUSY, status=status)], None)
    assert row.split()[:5] == ["a:8081", "shop", "-", "not", "live"]


def test_what_workers_say_cannot_move_the_cursor() -> None:
    evil = "\x1b[2J\n\u202e"
    handler = evolve(idle_handler(evil), topics=(evil,))
    status = evolve(busy_status(), group=evil, reasons=(evil,), handlers=(handler,))
    entry = TopWorkerEntry("worker", evil, status, None)
    assert all(line.isprintable() for line in worker_lines([entry, evolve(entry, status=None)], None))


async def test_all_workers_are_asked_in_the_order_given() -> None:
    nobody = f"127.0.0.1:{port_of_nobody()}"
    with answering_status(busy_status()) as first, answering_status(evolve(busy_status(), group="other")) as second:
        look = await WorkerSource([ProbeAddress.of(each) for each in (second, nobody, first)]).look()
    assert [each.worker for each in look.entries] == [second, nobody, first]
    groups = [None if each.status is None else each.status.group for each in look.entries]
    assert groups == ["other", None, "shop"]
    assert look.has_failed
    assert look.entries[1].error == ErrorEntry(
        f"worker {nobody}", None, "cannot connect: Connection refused", "Is it running, with this --probe-address?"
    )
    assert json.loads(json.dumps(attrs.asdict(look.entries[0])))["status"]["group"] == "other"


async def test_a_look_at_workers_that_all_answer_has_not_failed() -> None:
    with answering_status(busy_status()) as address:
        assert not (await WorkerSource([ProbeAddress.of(address)]).look()).has_failed
