"""What the package costs before it does anything: processor time of the import, memory and installed size.

`python -m tests.benchmarks.footprint` measures the environment that it runs in; use one with nothing but the package.
Each figure of time and memory is the median of fresh interpreters; processor time, as other work on the machine
hardly changes it.
"""

import statistics
import subprocess
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

__all__ = ["installed_mib", "measured"]

RUNS = 7
PROGRAMS = {
    "an empty program": "",
    "import kafka_groups": "import kafka_groups",
    "from kafka_groups import KafkaShareConsumer": "from kafka_groups import KafkaShareConsumer",
    "a consumer that polled an embedded broker": """
from kafka_groups import KafkaShareConsumer
from kafka_groups.broker.cluster import EmbeddedCluster
with EmbeddedCluster() as cluster:
    cluster.create_topic("t")
    with KafkaShareConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id="g") as consumer:
        consumer.subscribe(["t"])
        consumer.poll(timeout=0.5)
""",
}
_MEASURE = """
import time
begun = time.process_time()
{program}
seconds = time.process_time() - begun
import os, sys
peak = 0.0
if sys.platform != "win32":
    import resource
    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
print(seconds, peak, len(sys.modules))
"""
_TOOLS = frozenset({"pip", "setuptools", "wheel"})


def measured(program: str, runs: int = RUNS) -> tuple[float, float, int]:
    """Medians of processor seconds and of peak memory in MiB, and the modules, of a program in fresh interpreters."""
    results = [_run(_MEASURE.format(program=program)) for _ in range(runs)]
    seconds, peaks, modules = zip(*results, strict=True)
    return statistics.median(seconds), statistics.median(peaks), int(modules[0])


def installed_mib() -> tuple[float, int]:
    """The size of all installed distributions but the installer's, in MiB, and their number."""
    counted = [each for each in distributions() if each.name not in _TOOLS]
    return sum(_size_bytes(each) for each in counted) / 2**20, len(counted)


def _run(program: str) -> tuple[float, float, int]:
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    return float(said[0]), float(said[1]), int(said[2])


def _size_bytes(distribution: Distribution) -> int:
    files = (Path(str(file.locate())) for file in distribution.files or ())
    return sum(file.stat().st_size for file in files if file.is_file())


def main() -> None:
    """Measure and print."""
    for name, program in PROGRAMS.items():
        seconds, peak_mib, modules = measured(program)
        print(f"{name}: {seconds:.3f} s, {peak_mib:.0f} MiB, {modules} modules")
    size_mib, count = installed_mib()
    print(f"installed: {size_mib:.0f} MiB in {count} distributions")


if __name__ == "__main__":
    main()
