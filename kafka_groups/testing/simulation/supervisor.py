"""Starts the processes of the application, and starts them again after errors that are expected."""

import asyncio
from collections import Counter

from kafka_groups.testing.simulation.processes import Main, SimulatedProcess
from kafka_groups.testing.simulation.trace import Trace

__all__ = ["ErrorTypes", "ProcessSupervisor"]

ErrorTypes = type[Exception] | tuple[type[Exception], ...]

_RESTART_S = 1.0


class ProcessSupervisor:
    """The processes of a simulation.

    Args:
        counts: Counts the errors that were expected.
        trace: Notes them.

    Attributes:
        processes: All processes, running or not.
        failure: Gets the first error that was not expected.
    """

    def __init__(self, counts: Counter[str], trace: Trace) -> None:
        self._counts = counts
        self._trace = trace
        self._is_over = False
        self.processes: list[SimulatedProcess] = []
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def start(self, main: Main, name: str, restart_on: ErrorTypes) -> SimulatedProcess:
        """Create a process and start it."""

        def ended(process: SimulatedProcess, error: Exception) -> None:
            if isinstance(error, restart_on):
                self._restart(process, error)
            else:
                self._fail(process, error)

        process = SimulatedProcess(name, main, ended)
        self.processes.append(process)
        process.start()
        return process

    async def stop_all(self) -> None:
        """Stop all processes as a supervisor does, and start none again."""
        self._is_over = True
        await asyncio.gather(*(process.stop() for process in self.processes))

    def kill_all(self) -> None:
        """Kill all processes, and start none again."""
        self._is_over = True
        for process in self.processes:
            process.kill()

    def _restart(self, process: SimulatedProcess, error: Exception) -> None:
        self._counts["process_failed"] += 1
        self._trace.note(process.name, "failed", type(error).__name__)
        asyncio.get_running_loop().call_later(_RESTART_S, self._start_again, process)

    def _start_again(self, process: SimulatedProcess) -> None:
        if not self._is_over and not process.is_running:
            process.start()

    def _fail(self, process: SimulatedProcess, error: Exception) -> None:
        if not self.failure.done():
            error.add_note(f"it ended the process {process.name}")
            self.failure.set_exception(error)
