"""In which partitions of internal topics Kafka keeps the state of keys: 1,000 names and 200 share-partitions.

`python -m tests.recording.coordinator_keys`, from the root of the project, asks Kafka's classes and writes the answers
to `tests/golden/coordinator_keys.json`. Needs Java and Kafka's jars (Maven fetches them); takes some seconds.
"""

import json
import random
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import UUID

from attrs import asdict, frozen

from kafka_groups.types import random_uuid
from tests.support.kafka.kafka_classpath import kafka_classpath, kafka_libs

FILE = Path(__file__).parent.parent / "golden" / "coordinator_keys.json"

_SOURCE = Path(__file__).parents[1] / "support" / "kafka" / "java" / "CoordinatorKeys.java"
_TIMEOUT_S = 120
_SEED = 932
_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1
_ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz0123456789-._",
    "ABC xyz:/äöüß€日本語русский",
    "😀🚀𝔘𐍈\U0010ffff a",  # outside the basic plane: two code units each
    "\x00\x7f\x80\uffff\ud800\udfff",  # surrogates that stand alone, as Java allows them
)
_LONGEST = 60
_UNTIL_ANY_HASH = 7
"""So many characters of 31 in a row reach each 32-bit number: 31**7 > 2**32."""


@frozen(kw_only=True)
class ShareKey:
    """A share-partition."""

    group_id: str
    topic_id: str
    partition: int


@frozen(kw_only=True)
class PlacedKey:
    """A key and what Kafka makes of it; with the share-partition whose key it is, if it is one's."""

    key: str
    hash_code: int
    of_50: int
    of_7: int
    share: ShareKey | None = None


def names() -> list[str]:
    """1,000 names, 60 of them with the hash code -2**31 and 40 with other codes at the edges."""
    rng = random.Random(_SEED)
    edges = [_INT_MIN] * 60 + [_INT_MAX] * 10 + [_INT_MIN + 1] * 10 + [-1] * 10 + [0] * 10
    chosen = ["", "polygenelubricants", *(_with_hash(_name(rng), code) for code in edges)]
    return [*chosen, *(_name(rng) for _ in range(1_000 - len(chosen)))]


def share_keys() -> list[ShareKey]:
    """200 share-partitions."""
    rng = random.Random(_SEED)
    partitions = (0, 1, 7, 49, 50, 9_999, _INT_MAX)
    return [
        ShareKey(group_id=_name(rng), topic_id=str(random_uuid(rng)), partition=rng.choice(partitions))
        for _ in range(200)
    ]


def kafkas_answers() -> list[PlacedKey]:
    """What Kafka's classes say today."""
    shares = share_keys()
    lines = [*(f"name {_units(name)}" for name in names()), *map(_share_line, shares)]
    answers = _read(_asked("".join(f"{line}\n" for line in lines)).splitlines())
    return list(_with_shares(answers, shares))


def load_keys() -> list[PlacedKey]:
    """The answers that are kept."""
    return [
        PlacedKey(**{**each, "share": each["share"] and ShareKey(**each["share"])})
        for each in json.loads(FILE.read_text(encoding="ascii"))["keys"]
    ]


def _name(rng: random.Random) -> str:
    name = "".join(rng.choices(rng.choice(_ALPHABETS), k=rng.randrange(_LONGEST)))
    return _text(name.encode("utf-16-be", "surrogatepass"))  # two surrogates in a row may be one character


def _text(units: bytes) -> str:
    return units.decode("utf-16-be", "surrogatepass")


def _hash(text: str) -> int:
    code = 0
    for unit in _code_units(text):
        code = (31 * code + unit) % 2**32
    return code


def _with_hash(prefix: str, code: int) -> str:
    """The name, followed by characters that give all of it this hash code."""
    lowest = ord("a")
    missing = (code - _hash(prefix + chr(lowest) * _UNTIL_ANY_HASH)) % 2**32
    digits = [missing // 31**power % 31 for power in reversed(range(_UNTIL_ANY_HASH))]
    return prefix + "".join(chr(lowest + digit) for digit in digits)


def _code_units(text: str) -> Iterator[int]:
    encoded = text.encode("utf-16-be", "surrogatepass")
    return (int.from_bytes(encoded[i : i + 2], "big") for i in range(0, len(encoded), 2))


def _units(text: str) -> str:
    return "u" + "".join(f"{unit:04x}" for unit in _code_units(text))


def _share_line(share: ShareKey) -> str:
    id_bytes = UUID(share.topic_id).bytes
    most, least = (int.from_bytes(half, "big", signed=True) for half in (id_bytes[:8], id_bytes[8:]))
    return f"share {_units(share.group_id)} {most} {least} {share.partition}"


def _asked(lines: str) -> str:
    classpath = kafka_classpath(kafka_libs())
    with tempfile.TemporaryDirectory() as directory:
        _run(["javac", "-cp", classpath, "-d", directory, str(_SOURCE)])
        return _run(["java", "-XX:TieredStopAtLevel=1", "-cp", f"{directory}:{classpath}", _SOURCE.stem], lines)


def _run(command: list[str], given: str = "") -> str:
    done = subprocess.run(command, input=given, text=True, capture_output=True, check=False, timeout=_TIMEOUT_S)
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stderr}"
    return done.stdout


def _read(lines: Iterable[str]) -> Iterator[PlacedKey]:
    for line in lines:
        units, *numbers = line.split(" ")
        code, of_50, of_7 = map(int, numbers)
        key = _text(bytes.fromhex(units[1:]))
        yield PlacedKey(key=key, hash_code=code, of_50=of_50, of_7=of_7)


def _with_shares(answers: Iterable[PlacedKey], shares: list[ShareKey]) -> Iterator[PlacedKey]:
    answers = list(answers)
    for number, answer in enumerate(answers, len(shares) - len(answers)):
        share = shares[number] if number >= 0 else None
        yield PlacedKey(**{**asdict(answer), "share": share})


def main() -> None:
    """Write the file."""
    broker = "Apache Kafka's classes SharePartitionKey, Uuid and Utils, and Java's String.hashCode"
    lines = ",\n".join(json.dumps(asdict(each)) for each in kafkas_answers())
    FILE.write_text(f'{{"by": {json.dumps(broker)}, "keys": [\n{lines}\n]}}\n', encoding="ascii")


if __name__ == "__main__":
    main()
