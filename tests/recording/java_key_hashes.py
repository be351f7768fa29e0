"""Hashes of keys by `Utils.murmur2` of Kafka 4.4.0, recorded: of three keys of each length from 0 to 300.

`python -m tests.recording.java_key_hashes` records them again. It needs Java 17 and Maven.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tests.support.kafka.java_program import JavaProgram, LineProgram
from tests.support.kafka.kafka_classpath import kafka_classpath, kafka_libs

__all__ = ["java_hash", "keys", "recorded"]

GOLDEN: Final = Path(__file__).parents[1] / "golden" / "key_hashes.json"
_LONGEST: Final = 300
_SEEDS: Final[Mapping[str, tuple[int, int]]] = {"mixed": (167, 13), "ascending": (1, 0), "high": (0, 255)}
"""The keys of each length by name: the factor of a byte's place, and what is added, modulo 256."""


def keys() -> Iterator[tuple[str, bytes]]:
    """The keys, with their names."""
    for name, (factor, added) in _SEEDS.items():
        for length in range(_LONGEST + 1):
            yield f"{name} {length}", bytes((at * factor + length * (factor > 1) + added) % 256 for at in range(length))


def java_hash(driver: LineProgram, key: bytes) -> int:
    """The hash that Java has for a key, a number with a sign."""
    return int(driver.ask(f"x{key.hex()}")[0])


def recorded() -> Mapping[str, int]:
    """What was recorded, by the names of the keys."""
    found: dict[str, int] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Record what Java answers."""
    with (
        tempfile.TemporaryDirectory() as directory,
        JavaProgram("KeyHashes", Path(directory), kafka_classpath(kafka_libs())) as driver,
    ):
        hashes = {name: java_hash(driver, key) for name, key in keys()}
    GOLDEN.write_text(json.dumps(hashes, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
