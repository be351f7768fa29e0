"""Public names of a package that are imported when they are first used."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ["import_on_first_use"]


def import_on_first_use(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return a `__getattr__` and a `__dir__` for a package (PEP 562).

    Args:
        package: The package's `__name__`.
        modules: Maps each public name to the module that defines it, relative to the package; one that begins with a
            dot is next to the package. A colon at the end: the name is the module itself.
    """
    module = sys.modules[package]

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=module)
        found = import_module(f".{modules[name].removesuffix(':')}", package)
        value: object = found if modules[name].endswith(":") else getattr(found, name)
        setattr(module, name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(module), *modules})

    return get, names
