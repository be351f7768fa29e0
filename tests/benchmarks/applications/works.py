"""What the applications of the benchmarks do. This module imports nothing, as the programs of others read it, too."""

JOB_VARIABLE = "KAFKA_GROUPS_BENCHMARK_JOB"
"""Environment variable with the job of an application, as JSON."""

MAP = "map"
"""Texts in capital letters, from one topic to another."""

WINDOWS = "windowed count"
"""Counts of each key in tumbling windows, with a changelog, and an output record for each input record."""

WINDOWS_CACHED = "windowed count, cached"
"""The same with a cache: an output record for each key, window and commit. Only ours has caches."""

KEYS = "count"
"""Counts of each key, with a cache."""

BESIDE = "windowed count beside a count"
"""Windowed counts of one topic, and counts of each key of another, in tasks of their own."""

FEW = "1,000 keys"
FRESH = "keys that never repeat"
"""The keys of the records."""

WINDOW_S = 10
"""Size of the windows, in seconds; the grace period is as long."""

IN_MEMORY = "in_memory"
"""The stores of an application in memory, as they are unless something else is said."""
