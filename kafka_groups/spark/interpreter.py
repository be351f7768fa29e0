"""The Python that Spark starts for its tasks and its sources: it must have this package.

PySpark does not start the interpreter of your program. It starts the one that `PYSPARK_PYTHON` names, or else `python3`
from the path. If your environment is not activated, that is another Python, without this package.
"""

import functools
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from kafka_groups.errors import ConfigurationError
from kafka_groups.spark.stopping import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check_driver_python", "explained", "use_driver_python"]

_VARIABLE: Final = "PYSPARK_PYTHON"
_PROBE: Final = "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, ('kafka_groups', 'pyspark'))))"
_PROBE_SECONDS: Final = 30
_MISSING: Final = ("No module named 'kafka_groups'", "No module named 'pyarrow'")
_REMEDY: Final = (
    f"install kafka-groups[spark] there, or set {_VARIABLE} to a Python that has it before the Spark session is made"
)


def use_driver_python(spark: "SparkSession") -> None:
    """Make a local session start this program's interpreter, unless the user chose another, and check it.

    Sessions on a cluster are not changed: their executors run on other hosts, where the path may not exist.

    Raises:
        ConfigurationError: The interpreter does not exist or lacks the package.
    """
    if is_connect(spark) or not str(spark.sparkContext.master).startswith("local"):
        return
    if _VARIABLE not in os.environ:
        spark.sparkContext.pythonExec = sys.executable
    check_driver_python(spark)


def check_driver_python(spark: "SparkSession") -> None:
    """Check the interpreter that Spark starts on the driver's host.

    Raises:
        ConfigurationError: It does not exist or lacks the package.
    """
    if not is_connect(spark):
        _check(spark.sparkContext.pythonExec)


@functools.cache
def _check(python: str) -> None:
    if python == sys.executable:
        return
    path = shutil.which(python)
    if path is None:
        raise ConfigurationError(f"Spark starts {python!r} for Python code, which does not exist here: {_REMEDY}")
    probe = subprocess.run([path, "-c", _PROBE], capture_output=True, timeout=_PROBE_SECONDS, check=False)  # noqa: S603
    if probe.returncode:
        raise ConfigurationError(f"Spark starts {path} for Python code, which has no kafka_groups: {_REMEDY}")


def explained(error: Exception) -> ConfigurationError | None:
    """Return the error to raise instead of Spark's, if an executor's Python lacks the package."""
    text = str(error)
    missing = next((missing for missing in _MISSING if missing in text), None)
    if missing is None:
        return None
    return ConfigurationError(f"The Python of Spark's executors lacks the package ({missing}): {_REMEDY}")
