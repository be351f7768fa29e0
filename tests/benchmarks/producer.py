"""A producer in a process of its own: `python -m tests.benchmarks.producer BOOTSTRAP TOPIC RECORDS BATCHES PARTITIONS`.

Prints when it began, on the machine's monotonic clock.
"""

import sys
import time

from tests.benchmarks.topics import produce


def main() -> None:
    bootstrap_servers, topic, records, batches, partitions = sys.argv[1:]
    print(time.monotonic(), flush=True)
    produce(bootstrap_servers, topic, int(records), batches, int(partitions))


if __name__ == "__main__":
    main()
