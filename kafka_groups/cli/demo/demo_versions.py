"""The versions of the demo, and the run of one of them."""

import asyncio
import importlib
from collections.abc import Awaitable
from typing import Any

from attrs import frozen
from rich.console import Console

from kafka_groups.cli.demo.pipeline.prerequisites import check_prerequisites
from kafka_groups.cli.demo.progress import Progress, progress_on
from kafka_groups.cli.output import console_for_people
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.clock import SystemClock

__all__ = ["OF_STREAMS", "WITHOUT_SPARK", "WITH_SPARK", "DemoVersion", "run_demo"]

_INTERRUPTED = 130


@frozen
class DemoVersion:
    """One version of the demo: the modules `run` and `report` of a package, imported on first use."""

    package: str
    run: str
    options: str

    def outcome(self, given: dict[str, Any], progress: Progress) -> Awaitable[Any]:
        """Run this version of the demo."""
        module = importlib.import_module(f"{self.package}.run")
        options = getattr(module, self.options)(**given)
        outcome: Awaitable[Any] = getattr(module, self.run)(options, progress).run()
        return outcome

    def report(self, console: Console, outcome: Any, elapsed_ms: int) -> None:
        """Print the results."""
        importlib.import_module(f"{self.package}.report").print_report(console, outcome, elapsed_ms)


WITH_SPARK = DemoVersion("kafka_groups.cli.demo.pipeline", "Pipeline", "PipelineOptions")
WITHOUT_SPARK = DemoVersion("kafka_groups.cli.demo.plain", "Demo", "DemoOptions")
OF_STREAMS = DemoVersion("kafka_groups.cli.demo.streams", "StreamsDemo", "StreamsDemoOptions")
"""The demo of streams groups."""


def run_demo(version: DemoVersion, given: dict[str, Any]) -> int:
    """Run a version of the demo with these options and print its report. Return the exit status."""
    console, clock = console_for_people(), SystemClock()
    started_ms = clock.now_ms()
    try:
        if version is WITH_SPARK:
            check_prerequisites()
        outcome = asyncio.run(_with_progress(version, given))
    except KeyboardInterrupt:
        console.print("Interrupted. The broker and the workers have stopped.")
        return _INTERRUPTED
    except (KafkaGroupsError, TimeoutError) as error:
        console.print(f"The run failed: {str(error) or type(error).__name__}", markup=False, soft_wrap=True)
        return 1
    version.report(console, outcome, clock.now_ms() - started_ms)
    return 0 if outcome.holds else 1


async def _with_progress(version: DemoVersion, given: dict[str, Any]) -> Any:
    with progress_on(console_for_people()) as progress:
        return await version.outcome(given, progress)
