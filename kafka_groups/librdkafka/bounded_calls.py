"""Calls into librdkafka that may never return, bounded in time.

The transactional calls of librdkafka have a timeout. Nevertheless `send_offsets_to_transaction` of 2.16 waits for good
if the connection to the group coordinator breaks at the wrong moment.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue

__all__ = ["BoundedCalls"]

_BoundedCall = tuple[Callable[[], None], "Future[None]"]


class BoundedCalls:
    """Makes calls on a thread of its own, one after the other. If one does not return, its thread is given up."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[_BoundedCall | None] | None = None
        self._thread_ids: set[int] = set()
        self._thread: threading.Thread | None = None

    def __repr__(self) -> str:
        return f"<BoundedCalls: {len(self._thread_ids)} threads given up>"

    def call(self, step: Callable[[], None], timeout_s: float) -> None:
        """Make a call, and return when it has.

        Raises:
            TimeoutError: It has not returned in time, and may never do so.
            Exception: What the call raised.
        """
        result: Future[None] = Future()
        self._open().put((step, result))
        try:
            result.result(timeout_s)
        except TimeoutError:
            if not result.done():
                self._give_up()
            raise

    def is_given_up(self) -> bool:
        """Return whether this runs on a thread that was given up."""
        return threading.get_ident() in self._thread_ids

    def close(self) -> None:
        """End the thread when its call has returned."""
        if self._calls is not None:
            self._calls.put(None)
            self._calls = self._thread = None

    def _open(self) -> "SimpleQueue[_BoundedCall | None]":
        if self._calls is None:
            self._calls = SimpleQueue()
            self._thread = threading.Thread(target=_serve, args=(self._calls,), name="librdkafka-calls", daemon=True)
            self._thread.start()
        return self._calls

    def _give_up(self) -> None:
        if self._thread is not None and self._thread.ident is not None:
            self._thread_ids.add(self._thread.ident)
        self.close()


def _serve(calls: "SimpleQueue[_BoundedCall | None]") -> None:
    while (call := calls.get()) is not None:
        step, result = call
        try:
            step()
        except BaseException as error:  # it belongs to the caller
            result.set_exception(error)
        else:
            result.set_result(None)
        del call, step, result  # not until the next call: they may hold a producer
