"""Pipelines of Spark under faults that are drawn from seeds, on the embedded broker and on a real Kafka.

`python -m tests.faults DESIGN SEED [--broker embedded|kafka]` runs one seed again. A seed determines the plan: records,
partitions, limits, mode, and which faults strike at which point after how many batches. It does not determine timing:
which of two tasks meets a fault, what Spark's scheduler does next, and how many records a poll brings.

`harness.py` runs a plan: it produces records, has a driver process (`driver.py`, `pipelines.py`) consume them into a
keyed SQLite sink (`ledger.py`), does what the pipeline cannot do to itself (kill its driver), and judges (`report.py`).
"""
