"""`EngineTest`: runs engines through checks that each of them must pass."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from attrs import define, field

from kafka_groups.streams.engines.interface import EngineFactory
from kafka_groups.testing.engines.engine_checks import CHECKS
from kafka_groups.testing.engines.engine_failure import EngineTestError
from kafka_groups.testing.engines.history import random_history
from kafka_groups.testing.engines.trial import EngineTrial

__all__ = ["EngineTest"]


@define
class EngineTest:
    """Runs the engines of a factory through checks that each of them must pass, without a broker.

    The checks open the tasks `0_0` and `0_1` and global stores, and wipe them first. A task has a store that is
    persistent and one that is not.

    They cannot end processes and machines. Test yourself that the state is whole after a kill at any step of a commit,
    and that two processes never write to the same state.

    Attributes:
        make: Makes the factory of a process. It is called for each process that follows another one.
        outlasts: Whether state outlasts its process. No for engines in memory.
        seeds: The seeds of the random histories. Equal seeds have equal histories.
    """

    __test__: ClassVar[bool] = False  # not a class of tests, for those whose pytest collects *Test

    make: Callable[[], EngineFactory]
    outlasts: bool = field(default=True, kw_only=True)
    seeds: range = field(default=range(5), kw_only=True)

    @property
    def checks(self) -> dict[str, Callable[[], None]]:
        """The checks by name, to run them one by one. Each raises `EngineTestError`."""
        histories: dict[str, Callable[[EngineTrial], None]] = {
            f"history {seed}": partial(random_history, seed=seed) for seed in self.seeds
        }
        return {name: partial(self._run, name, check) for name, check in {**CHECKS, **histories}.items()}

    def run(self) -> None:
        """Run all checks.

        Raises:
            EngineTestError: The engine has broken a rule.
        """
        __tracebackhide__ = True  # pytest shows the line of the test
        for check in self.checks.values():
            check()

    def _run(self, name: str, check: Callable[[EngineTrial], None]) -> None:
        trial = EngineTrial(self.make, outlasts=self.outlasts)
        try:
            check(trial)
        except EngineTestError as error:
            raise EngineTestError(f"Check {name!r}: {error}") from error
        finally:
            trial.close()
