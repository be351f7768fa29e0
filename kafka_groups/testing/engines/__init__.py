"""The test kit for engines, which keep the committed state of tasks: `EngineTest`.

Each name is imported on first use.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_groups.lazy_exports import import_on_first_use

if TYPE_CHECKING:
    from kafka_groups.testing.engines.engine_failure import EngineTestError
    from kafka_groups.testing.engines.engine_harness import EngineTest

__all__ = ["EngineTest", "EngineTestError"]

_MODULES = MappingProxyType({
    "EngineTest": "engine_harness",
    "EngineTestError": "engine_failure",
})  # fmt: skip

if not TYPE_CHECKING:  # so that a type checker reports a name that does not exist
    __getattr__, __dir__ = import_on_first_use(__name__, _MODULES)
