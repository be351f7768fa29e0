"""Values of subscriptions to the metrics of clients."""

import pytest

from kafka_groups.config.cluster.client_metrics import ClientMetricsConfig, client_metrics_config
from kafka_groups.errors import BrokerError, InvalidConfigError, InvalidRequestError


def test_values_and_defaults() -> None:
    values = {"interval.ms": " 100 ", "match": "client_id=app-.*, client_source_port = 1", "metrics": "a,b"}
    match = ("client_id=app-.*", "client_source_port = 1")
    assert client_metrics_config(values) == ClientMetricsConfig(interval_ms=100, match=match, metrics=("a", "b"))
    assert client_metrics_config({}) == ClientMetricsConfig(interval_ms=300_000, match=(), metrics=())


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("other", "1", InvalidRequestError),
        ("interval.ms", "99", InvalidRequestError),
        ("interval.ms", "3600001", InvalidRequestError),
        ("interval.ms", "soon", InvalidConfigError),
        ("match", "client_id", InvalidConfigError),
        ("match", "client_id=[", InvalidConfigError),
        ("match", "client_id=x=y", InvalidConfigError),
        ("match", "other=x", InvalidConfigError),
    ],
)
def test_what_is_refused(name: str, value: str, error: type[BrokerError]) -> None:
    with pytest.raises(error):
        client_metrics_config({name: value})
