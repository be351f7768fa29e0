"""A consumer that takes some time for each record, and counts for a while; a process of its own.

It uses nothing but the public interface of `kafka_groups`, so that it also runs with an earlier version of it.
`python tests/benchmarks/paced.py '{"topic": …}'` prints what it got as one line of JSON.
"""

import json
import sys
import time
from statistics import quantiles
from typing import Any

from kafka_groups import KafkaShareConsumer

_WARM_UP_S = 0.5


def work(task: dict[str, Any]) -> dict[str, Any]:
    """Poll until the time is over; what came within it.

    Args:
        task: `keys` of the consumer, `topic`, `record_ms` for each record, and `from_s` and `until_s` on the machine's
            monotonic clock. Records whose value is a number tell when they were produced, in nanoseconds of that clock.
    """
    counted, redelivered, delays_ms = 0, 0, list[float]()
    with KafkaShareConsumer(**task["keys"]) as consumer:
        consumer.subscribe([task["topic"]])
        while (now_s := time.monotonic()) < task["until_s"]:
            records = consumer.poll(timeout=min(0.5, task["until_s"] - now_s))
            if (left_s := task["from_s"] - time.monotonic()) > 0:
                time.sleep(min(_WARM_UP_S, left_s))  # joined, and not fast yet
                continue
            counted += len(records)
            redelivered += sum(record.delivery_count > 1 for record in records)
            delays_ms += [(time.monotonic_ns() - int(r.value)) / 1e6 for r in records if r.value and r.value.isdigit()]
            _spend(len(records), task["record_ms"])
        lost = consumer.metrics()["acknowledgements-error-total"]
    percentiles = quantiles(delays_ms, n=100) if len(delays_ms) > 1 else [0.0] * 99
    return {
        "records": counted,
        "redelivered": redelivered,
        "failed": lost,
        "p50_ms": percentiles[49],
        "p99_ms": percentiles[98],
    }


def _spend(records: int, record_ms: float) -> None:
    if records and record_ms:
        time.sleep(records * record_ms / 1000)


if __name__ == "__main__":
    print(json.dumps(work(json.loads(sys.argv[1]))), flush=True)
