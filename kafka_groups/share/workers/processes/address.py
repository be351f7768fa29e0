"""The address of a worker, `module:name`, by which another process imports it."""

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import TypeVar

from attrs import frozen

from kafka_groups.errors import ConfigurationError

__all__ = ["WorkerAddress", "address_of"]

T = TypeVar("T")

_MAIN = ("__main__", "__mp_main__")
_REMEDY = (
    "With processes from 2 on, each process imports the worker: assign it to a name at the top level of a module, such"
    ' as `worker = Worker(...)`, and call run under `if __name__ == "__main__":`'
)


@frozen
class WorkerAddress:
    """The module and the name of a worker.

    Attributes:
        module: The name of the module.
        name: The worker's name in it.
    """

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"

    def load(self, kind: type[T]) -> T:
        """Import the module, and return the worker.

        Raises:
            ConfigurationError: It is not there.
        """
        found = getattr(importlib.import_module(self.module), self.name, None)
        # The module may make its worker only when it is run as a script, or bind the name to something else by then.
        if not isinstance(found, kind):
            raise ConfigurationError(f"{self} is {found!r} in a worker process, and not a {kind.__name__}. {_REMEDY}")
        return found


def address_of(worker: object) -> WorkerAddress:
    """Return the address of a worker, among the names of all imported modules.

    Raises:
        ConfigurationError: No module has a name for it.
    """
    for module in _modules():
        for name, value in list(vars(module).items()):
            if value is worker:
                return WorkerAddress(module.__name__, name)
    raise ConfigurationError(f"{worker!r} has no name that other processes could import. {_REMEDY}")


def _modules() -> Iterator[ModuleType]:
    """Yield all modules, the program's own last: others can be imported without running it."""
    modules = dict(sys.modules)
    yield from (module for name, module in modules.items() if name not in _MAIN and _is_named(module, name))
    main = modules.get("__main__")
    if main is not None and getattr(main, "__file__", None) is not None:
        yield main


def _is_named(module: object, name: str) -> bool:
    """Return whether an entry of `sys.modules` is a module of that name: programs put other things there, too."""
    return isinstance(module, ModuleType) and module.__name__ == name
