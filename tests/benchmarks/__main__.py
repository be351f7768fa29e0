"""`python -m tests.benchmarks`: how fast the share consumer and the embedded broker are; see docs/benchmarks.md."""

from tests.benchmarks.main import main

main()
