"""The figures as tables for people and as JSON for programs."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from rich.table import Table

from kafka_groups.cli.output import table
from tests.benchmarks.measures import ClientRounds, Comparison, Memory
from tests.benchmarks.pauses import Pause
from tests.benchmarks.sharing import SIZES, Shared
from tests.benchmarks.versions import VERSIONS, Compared

_COLUMNS = (
    "broker, batches, mode", "rate", "CPU", "k rec/s", "theirs", "us CPU/rec", "theirs", "poll p50/p99 ms", "theirs",
)  # fmt: skip


def comparison_table(comparisons: Sequence[Comparison], opponent: str = "confluent-kafka's") -> Table:
    """Ours against the other client, a row for each case."""
    return table(f"Share consumer, ours / {opponent}", _COLUMNS, [_row(case) for case in comparisons])


def fairness_table(shared: Sequence[Shared]) -> Table:
    """Records of each member, medians, with adaptive and with fixed fetches."""
    rows = [
        (
            each.name,
            *(" ".join(f"{each.share_of(size, m):,.0f}" for m in range(len(each.rounds[size][0]))) for size in SIZES),
            f"{each.least_ratio:.2f}",
            *("/".join(f"{each.total(size, figure):.0f}" for size in SIZES) for figure in ("redelivered", "failed")),
        )
        for each in shared
    ]
    columns = ("members", *(f"records, {size}" for size in SIZES), "least ratio", "redelivered", "failed")
    return table("Members of one group", columns, rows)


def latency_table(figures: Mapping[str, Sequence[Mapping[str, float]]]) -> Table:
    """Milliseconds from producing to consuming, medians of the rounds."""
    rows = [
        (client, *(f"{median(one[figure] for one in rounds):.3f}" for figure in ("p50_ms", "p99_ms")))
        for client, rounds in figures.items()
    ]
    return table("A record every 10 ms", ("client", "p50 ms", "p99 ms"), rows)


def end_to_end_table(rates: Mapping[str, Sequence[float]]) -> Table:
    """Produced by confluent-kafka, consumed by ours, on the embedded broker."""
    rows = [(batches, f"{median(r) / 1e3:.0f}", f"{min(r) / 1e3:.0f}", f"{max(r) / 1e3:.0f}")
            for batches, r in rates.items()]  # fmt: skip
    return table("Embedded broker, produce and consume at once, k rec/s", ("batches", "median", "least", "most"), rows)


def versions_table(compared: Compared) -> Table:
    """The embedded broker now and in another version."""
    rows = [
        (
            case.name,
            f"{case.rate_ratio:.2f}",
            f"{case.cpu_ratio:.2f}",
            *(f"{median(case.rates[version]) / 1e3:.1f}" for version in VERSIONS),
            *(f"{median(case.cpu_us[version]):.2f}" for version in VERSIONS),
        )
        for case in compared.cases
    ]
    memory = [_mib(compared.resident_bytes[version]) for version in VERSIONS]
    rows.append(("memory", f"{compared.memory_ratio:.2f}", "", *(f"{mib} MiB" for mib in memory), "", ""))
    columns = ("case", "rate", "CPU", "k rec/s", "before", "us CPU/rec", "before")
    return table(f"Embedded broker, now / before, {compared.brokers} brokers", columns, rows)


def memory_table(measured: Mapping[str, Memory]) -> Table:
    """Resident memory of our client."""
    rows = [
        (target, f"{m.records:,}", _mib(m.bytes_at_tenth), _mib(m.bytes_at_end), f"{m.ratio:.3f}")
        for target, m in measured.items()
    ]
    columns = ("broker", "records", "MiB after a tenth", "MiB after all", "ratio")
    return table("Resident memory of our client", columns, rows)


def pauses_table(target: str, pauses: Sequence[Pause]) -> Table:
    """Heartbeats beside requests with very many items."""
    rows = [(each.name, f"{each.served_s:.1f}", f"{each.p99_ms:.0f}", f"{each.longest_ms:.0f}") for each in pauses]
    columns = ("request", "served in s", "heartbeats p99 ms", "longest ms")
    return table(f"Heartbeats of another connection, {target}", columns, rows)


def comparison_as_json(case: Comparison) -> dict[str, Any]:
    """All that was measured in one case."""
    return {
        "target": case.target,
        "batches": case.batches,
        "mode": case.mode,
        "rate_ratio": case.rate_ratio,
        "cpu_ratio": case.cpu_ratio,
        "ours": _rounds_as_json(case.ours),
        "theirs": _rounds_as_json(case.theirs),
    }


def _rounds_as_json(rounds: ClientRounds) -> dict[str, Any]:
    return {
        "records_per_second": rounds.records_per_second,
        "cpu_us_per_record": rounds.cpu_us_per_record,
        "poll_p50_ms": rounds.poll_p50_ms,
        "poll_p99_ms": rounds.poll_p99_ms,
        "records_per_poll": rounds.records_per_poll,
        "records_per_second_by_round": [o.records / o.seconds for o in rounds.outcomes],
        "cpu_us_per_record_by_round": [o.cpu_seconds / o.records * 1e6 for o in rounds.outcomes],
    }


def _row(case: Comparison) -> tuple[str, ...]:
    ours, theirs = case.ours, case.theirs
    return (
        str(case),
        f"{case.rate_ratio:.2f}",
        f"{case.cpu_ratio:.2f}",
        f"{ours.records_per_second / 1e3:.0f}",
        f"{theirs.records_per_second / 1e3:.0f}",
        f"{ours.cpu_us_per_record:.2f}",
        f"{theirs.cpu_us_per_record:.2f}",
        f"{ours.poll_p50_ms:.2f} / {ours.poll_p99_ms:.2f}",
        f"{theirs.poll_p50_ms:.2f} / {theirs.poll_p99_ms:.2f}",
    )


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:.1f}"
