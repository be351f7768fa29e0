"""Operations that a simulation refuses, because they are not deterministic or would wait in real time."""

import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from types import MappingProxyType
from typing import NoReturn

from kafka_groups.errors.texts import sentences

__all__ = ["LOOP_REFUSALS", "SimulationUnsupportedError", "refuse", "sealed"]


class SimulationUnsupportedError(NotImplementedError):
    """The program used a thread, a socket or something else that does not exist in virtual time, or blocked."""

    # Not a KafkaGroupsError: applications catch those and go on.


_THREADS = (
    "a simulation has no threads. Give your application the blocking function as a parameter, and pass an async one in"
    " the simulation, which takes virtual time with asyncio.sleep"
)
_SOCKETS = (
    "a simulation has no sockets. Connect consumers with environment=world.environment(), and replace other services by"
    " objects in memory"
)
_PROCESSES = "a simulation has no real processes. Replace what the process does by a function in memory"
_SLEEP = "it would block the event loop, and no virtual time would pass. Use `await asyncio.sleep`"
_SIGNALS = "a simulation has no signals. `SimulatedProcess.stop` cancels the process's task instead"

LOOP_REFUSALS = MappingProxyType({
    "run_in_executor": _THREADS,
    "create_connection": _SOCKETS,
    "create_datagram_endpoint": _SOCKETS,
    "create_server": _SOCKETS,
    "create_unix_connection": _SOCKETS,
    "create_unix_server": _SOCKETS,
    "connect_accepted_socket": _SOCKETS,
    "connect_read_pipe": _SOCKETS,
    "connect_write_pipe": _SOCKETS,
    "add_reader": _SOCKETS,
    "add_writer": _SOCKETS,
    "sock_connect": _SOCKETS,
    "sock_accept": _SOCKETS,
    "sock_recv": _SOCKETS,
    "sock_sendall": _SOCKETS,
    "subprocess_exec": _PROCESSES,
    "subprocess_shell": _PROCESSES,
    "add_signal_handler": _SIGNALS,
})  # fmt: skip
"""Methods of the event loop, and why a simulation refuses them."""

_BLOCKING: tuple[tuple[object, str, str, str], ...] = (
    (time, "sleep", "time.sleep", _SLEEP),
    (threading.Thread, "start", "Thread.start", f"{_THREADS}. Use AsyncKafkaShareConsumer, not KafkaShareConsumer"),
    (socket.socket, "connect", "socket.connect", _SOCKETS),
    (socket.socket, "bind", "socket.bind", _SOCKETS),
    (subprocess.Popen, "__init__", "subprocess.Popen", _PROCESSES),
)


def refuse(name: str, reason: str, refused: list[SimulationUnsupportedError]) -> NoReturn:
    """Raise an error, and note it, so that it does not go unnoticed if the application catches it.

    Raises:
        SimulationUnsupportedError: Always.
    """
    refused.append(SimulationUnsupportedError(sentences(f"{name} was called: {reason}")))
    raise refused[-1]


@contextmanager
def sealed(refused: list[SimulationUnsupportedError]) -> Iterator[None]:
    """Refuse what blocks while the block runs, in this thread; other threads are not affected."""
    with ExitStack() as stack:
        for owner, name, shown, reason in _BLOCKING:
            stack.enter_context(_replaced(owner, name, partial(refuse, shown, reason, refused)))
        yield


@contextmanager
def _replaced(owner: object, name: str, instead: Callable[[], object]) -> Iterator[None]:
    original, is_own, thread_id = getattr(owner, name), name in vars(owner), threading.get_ident()

    def replacement(*arguments: object, **keywords: object) -> object:
        is_here = threading.get_ident() == thread_id
        return instead() if is_here else original(*arguments, **keywords)

    setattr(owner, name, replacement)
    try:
        yield
    finally:
        if is_own:
            setattr(owner, name, original)
        else:
            delattr(owner, name)
