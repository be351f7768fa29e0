"""The Python that Spark starts for its tasks and its sources: it must have this package.

PySpark does not start the interpreter of your program. It starts the one that `PYSPARK_PYTHON` names, or else `python3`
from the path. If your environment is not activated, that is another Python, without this package. Every function of
this package that takes a session therefore chooses the interpreter here first.

A local session of Spark Connect has two kinds of Python processes. A setting of the session names the Python of tasks.
The processes of `foreachBatch` and of sources get theirs from the environment in which the session was created, so it
can only be checked.
"""

import functools
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

from kafka_groups.errors import ConfigurationError
from kafka_groups.spark.processes.stop_switch import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check_driver_python", "choose_python", "explained", "use_driver_python"]

_VARIABLE: Final = "PYSPARK_PYTHON"
_SETTING: Final = "spark.sql.execution.pyspark.python"
_LOCAL_CONNECT: Final = "SPARK_LOCAL_REMOTE"
"""Set by PySpark in a process that has started a Spark Connect server for itself."""
_PROBE: Final = "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, ('kafka_groups', 'pyspark'))))"
_PROBE_SECONDS: Final = 30
_MISSING: Final = ("No module named 'kafka_groups'", "No module named 'pyarrow'", "No module named 'pyspark'")
_REMEDY: Final = (
    f"install kafka-groups[spark] there, or set {_VARIABLE} to a Python that has it before the Spark session is made"
)


def choose_python(spark: "SparkSession") -> None:
    """Make the tasks of a local session run in this program's interpreter, unless the user chose another.

    Sessions on a cluster are not changed: their executors run on other hosts, where the path may not exist.
    """
    if is_connect(spark):
        if _is_local_connect() and _VARIABLE not in os.environ and not spark.conf.get(_SETTING, ""):
            spark.conf.set(_SETTING, sys.executable)
    elif _is_local(spark) and _VARIABLE not in os.environ:
        spark.sparkContext.pythonExec = sys.executable


def use_driver_python(spark: "SparkSession") -> None:
    """Choose the interpreter of a local session's tasks (see `choose_python`), and check it.

    Raises:
        ConfigurationError: The interpreter does not exist or lacks the package.
    """
    choose_python(spark)
    if not is_connect(spark) and _is_local(spark):
        _check(spark.sparkContext.pythonExec)


def check_driver_python(spark: "SparkSession") -> None:
    """Check the interpreter of the processes that Spark starts on the driver's host for sources and `foreachBatch`.

    Raises:
        ConfigurationError: It does not exist or lacks the package.
    """
    if not is_connect(spark):
        _check(spark.sparkContext.pythonExec)
    elif _is_local_connect() and (server := _environment_of_server()) is not None:
        _check(server.get(_VARIABLE) or server.get("PYSPARK_DRIVER_PYTHON") or "python3")


def _is_local(spark: "SparkSession") -> bool:
    return str(spark.sparkContext.master).startswith("local")


def _is_local_connect() -> bool:
    """Return whether sessions of Spark Connect in this process use a server on this host that was started for them."""
    return _LOCAL_CONNECT in os.environ


def _environment_of_server() -> Any:
    """Return the environment variables of the Spark Connect server of this process; None if it runs elsewhere."""
    from pyspark import SparkContext  # noqa: PLC0415 - loaded where there is a session

    jvm: Any = getattr(SparkContext, "_jvm", None)
    return None if jvm is None else jvm.System.getenv()


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
    """Return the error to raise instead of Spark's, if the Python of its tasks lacks the package."""
    text = str(error)
    missing = next((missing for missing in _MISSING if missing in text), None)
    if missing is None:
        return None
    return ConfigurationError(f"The Python that Spark starts for its tasks lacks the package ({missing}): {_REMEDY}")
