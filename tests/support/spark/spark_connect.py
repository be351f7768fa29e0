"""Spark Connect for tests: a server in a process of its own, and clients that are told what to do and answer in JSON.

A process can have either classic Spark or Spark Connect, so the tests' own process is never a client.

    python -m tests.support.spark.spark_connect # a server; ends with its standard input
    python -m tests.support.spark.spark_connect sc://… '[["module:function", {…}]]' # a client; prints what they return
"""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from attrs import frozen

from tests.support.spark.sessions import ROOT, spark_environment, spark_session

__all__ = ["Connect", "Scenario", "connect_server"]

_SERVER = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.port": "0",
}
_MODULE = "tests.support.spark.spark_connect"
_STOP_S = 20
_CLIENT_S = 300


@frozen
class Scenario:
    """A function that takes a session and these arguments, and returns what JSON can say.

    Attributes:
        function: The function of a module.
        arguments: Its arguments beside the session, by name.
    """

    function: Callable[..., Mapping[str, Any]]
    arguments: Mapping[str, Any]


class Connect:
    """A running server.

    Attributes:
        remote: Where it is, as clients spell it.
    """

    def __init__(self, remote: str) -> None:
        self.remote = remote

    def run(self, *scenarios: "Scenario") -> list[dict[str, Any]]:
        """Have one client call functions with its session, one after the other; what they returned.

        Raises:
            AssertionError: One raised; shows what the client wrote.
        """
        calls = [(f"{s.function.__module__}:{s.function.__qualname__}", dict(s.arguments)) for s in scenarios]
        command = [sys.executable, "-m", _MODULE, self.remote, json.dumps(calls)]
        done = subprocess.run(
            command, cwd=ROOT, env=_environment(), capture_output=True, text=True, timeout=_CLIENT_S, check=False
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        answers: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
        return answers


@contextmanager
def connect_server() -> Iterator[Connect]:
    """A server with two slots, stopped at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", _MODULE], cwd=ROOT, env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "the Spark Connect server did not start; see its standard error"
        yield Connect(json.loads(line)["remote"])
    finally:
        process.communicate(timeout=_STOP_S)


def _environment() -> dict[str, str]:
    return {**os.environ, **spark_environment()}


def _serve() -> None:
    with spark_session("local[2]", _SERVER) as session:
        service = "org.apache.spark.sql.connect.service.SparkConnectService$"
        port = getattr(getattr(session._jvm, service), "MODULE$").localPort()
        sys.stdout.write(json.dumps({"remote": f"sc://127.0.0.1:{port}"}) + "\n")
        sys.stdout.flush()
        sys.stdin.read()


def _be_client(remote: str, calls: str) -> None:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only where PySpark is

    session = SparkSession.builder.remote(remote).getOrCreate()
    try:
        answers = [_answer(session, name, arguments) for name, arguments in json.loads(calls)]
    finally:
        session.stop()
    sys.stdout.write(json.dumps(answers) + "\n")


def _answer(session: object, name: str, arguments: Mapping[str, Any]) -> object:
    module, _, function = name.partition(":")
    answer: object = getattr(importlib.import_module(module), function)(session, **arguments)
    return answer


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _be_client(*sys.argv[1:])
    else:
        _serve()
