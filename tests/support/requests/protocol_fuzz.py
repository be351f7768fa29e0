"""Decodes damaged messages: `python -m tests.support.requests.protocol_fuzz`, as kio's reader could end the process.

Arguments: a seed, and the number of messages for each API, version and direction. Prints, as JSON, how many
damaged bodies were tried and refused, and by how many bytes the peak of this process's memory grew. Any error
but `MalformedFrameError` ends it with a traceback.
"""

import json
import random
import resource
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from kafka_groups.errors import MalformedFrameError
from tests.support.generators import ended
from tests.support.requests.protocol_messages import SHAPES, Shape

_HUGE_COMPACT = b"\xff\xff\xff\xff\x07"  # as a variable-length integer: 2^31 - 1
_HUGE = b"\x7f\xff\xff\xff"
_NEGATIVE = b"\x80\x00\x00\x00"
_RANDOM_MUTATIONS = 25


def main(first_seed: int, messages_each: int) -> None:
    """Try them all."""
    outcomes: Counter[str] = Counter()
    for shape in SHAPES:
        _run(shape, first_seed, messages_each, 0, Counter())  # what is bound and imported once is not the messages'
    before = _peak_bytes()
    for shape in SHAPES:
        _run(shape, first_seed, messages_each, _RANDOM_MUTATIONS, outcomes)
    sys.stdout.write(json.dumps({**outcomes, "grown_bytes": _peak_bytes() - before}) + "\n")


def _run(shape: Shape, first_seed: int, messages_each: int, mutations: int, outcomes: "Counter[str]") -> None:
    @seed(first_seed)
    @settings(max_examples=messages_each, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(shape.messages())
    def damage(message: Any) -> None:
        body = shape.encode_body(message)
        assert shape.decode_body(body) == message
        for damaged in _damaged(body, random.Random(f"{first_seed}{body!r}"), mutations):
            outcomes[_outcome(shape, damaged)] += 1

    damage()


def _outcome(shape: Shape, body: bytes) -> str:
    read = _read(shape, body)
    assert _read_piecewise(shape, body) == read
    return "refused" if read is None else "read"


def _read(shape: Shape, body: bytes) -> Any:
    try:
        return shape.decode_body(body)
    except MalformedFrameError:
        return None


def _read_piecewise(shape: Shape, body: bytes) -> Any:
    try:
        return ended(shape.decoding_body(body))[0]
    except MalformedFrameError:
        return None


def _damaged(body: bytes, rng: random.Random, mutations: int) -> Iterator[bytes]:
    if mutations == 0:
        return
    yield body + b"\x00"
    for end in range(0, len(body), max(1, len(body) // 20)):
        yield body[:end]
    for at in range(0, len(body), max(1, len(body) // 40)):
        for length in (_HUGE_COMPACT, _HUGE, _NEGATIVE):
            yield body[:at] + length + body[at + len(length) :]
    for _ in range(mutations):
        yield _mutated(bytearray(body), rng)


def _mutated(body: bytearray, rng: random.Random) -> bytes:
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(body) + 1)
        match rng.randrange(3):
            case 0:
                body[at : at + 1] = rng.randbytes(1)
            case 1:
                body[at:at] = rng.randbytes(rng.randint(1, 8))
            case _:
                del body[at : at + rng.randint(1, 8)]
    return bytes(body)


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
