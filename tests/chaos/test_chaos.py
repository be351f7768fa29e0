"""However its processes are struck, the example counts each record once, on both brokers."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.harness import Chaos, running_broker
from tests.chaos.plan import Act, Plan

pytestmark = pytest.mark.slow


@pytest.mark.timeout(600)
@pytest.mark.parametrize("broker", ["embedded", pytest.param("kafka", marks=pytest.mark.real_kafka)])
def test_each_record_is_counted_once(
    broker: str, tmp_path: Path, request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> None:
    seconds: float = request.config.getoption("--chaos-seconds")
    with running_broker(broker) as servers:
        report = Chaos(Plan(1, broker, seconds), servers, tmp_path).run()
    record_property("to_show", str(report))
    assert report.is_exact, report
    assert report.struck[Act.PAUSE] + report.struck[Act.PAUSE_MIDWAY] > 0
