"""Runs the documentation's programs in processes of their own, against a broker with some orders."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from confluent_kafka import Producer

from tests.docs.blocks import ROOT, Program

__all__ = ["ORDERS", "PROMPT", "REGISTRY_VARIABLE", "ended", "produce_orders", "start"]

ORDERS = 3
REGISTRY_VARIABLE = "KAFKA_GROUPS_DOCS_REGISTRY"
PROMPT = {"group.share.min.heartbeat.interval.ms": 500, "group.share.heartbeat.interval.ms": 500}
"""Members learn of their assignment with a heartbeat; this saves ten seconds a program."""


def produce_orders(topic: str, bootstrap_servers: str) -> None:
    """Write the orders to a topic."""
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    for number in range(ORDERS):
        producer.produce(topic, value=f'{{"customer": {number}}}')
    assert producer.flush(20) == 0


def start(program: Program, bootstrap_servers: str, directory: Path) -> "subprocess.Popen[str]":
    """Start a program, with the broker's address in place of the one on the page."""
    path = directory / "program.py"
    registry = os.environ.get(REGISTRY_VARIABLE, "http://localhost:8081")
    code = program.code.replace("localhost:9092", bootstrap_servers).replace("http://localhost:8081", registry)
    path.write_text(code)
    return subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-W", "error", "-u", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )


def ended(process: "subprocess.Popen[str]") -> tuple[str, str]:
    """What the process wrote until its end, without librdkafka's remarks, which may come within another line.

    If it does not end, it is aborted, and what its threads were doing is in the message.
    """
    try:
        output, errors = process.communicate(timeout=180)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        output, errors = process.communicate(timeout=10)
        raise AssertionError(f"the program did not end: {output}{errors}") from None
    return output, re.sub(r"%\d\|[^\n]*\n", "", errors)
