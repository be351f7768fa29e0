"""The hooks that the build of the documentation runs."""

import importlib.util
from types import ModuleType

from tests.docs.blocks import ROOT

__all__ = ["hook_named"]


def hook_named(name: str) -> ModuleType:
    """Load a hook from `docs/_hooks`."""
    spec = importlib.util.spec_from_file_location(f"{name}_hook", ROOT / "docs" / "_hooks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
