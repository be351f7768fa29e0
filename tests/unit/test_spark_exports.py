"""What `kafka_groups.spark` offers, when it is loaded, and what it says when something is missing."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import kafka_groups.spark


def run(script: str) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-c", textwrap.dedent(script)]
    return subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)


def test_no_public_name_is_that_of_a_module_which_would_hide_it() -> None:
    folder = Path(kafka_groups.spark.__path__[0])
    assert not {path.stem for path in folder.iterdir()} & set(kafka_groups.spark.__all__)


def test_nothing_heavy_is_loaded_before_a_name_is_asked_for() -> None:
    done = run("""
        import sys
        import kafka_groups, kafka_groups.spark
        print([m for m in ("pyspark", "pyarrow", "pandas", "kafka_groups.spark.records.arrow") if m in sys.modules])
        kafka_groups.spark.RECORD_SCHEMA
        print([m for m in ("pyspark", "pandas", "kafka_groups.spark.records.arrow") if m in sys.modules])
    """)
    assert done.stdout == "[]\n[]\n", done.stderr


@pytest.mark.parametrize("missing", ["pyspark", "pyarrow"])
def test_what_is_missing_is_named_together_with_the_command_that_installs_it(missing: str) -> None:
    done = run(f"""
        import importlib.util
        real = importlib.util.find_spec
        importlib.util.find_spec = lambda name, package=None: None if name == {missing!r} else real(name, package)
        try:
            from kafka_groups.spark import RECORD_SCHEMA
        except ModuleNotFoundError as error:
            print(error.name, error)
    """)
    assert done.stdout.startswith(f"{missing} kafka_groups.spark needs {missing}"), done.stderr
    assert "pip install '.[spark]'" in done.stdout
