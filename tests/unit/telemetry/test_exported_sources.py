import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.telemetry.exported_sources import ExportedSources
from kafka_groups.telemetry.sources import TelemetrySource
from tests.unit.telemetry.clients import FAMILY, Client


def labels(sources: tuple[TelemetrySource, ...]) -> list[dict[str, str]]:
    return [dict(source.labels) for source in sources]


def test_clients_with_the_same_labels_are_numbered() -> None:
    exported = ExportedSources()
    exported.add((Client("shop"), Client("shop")))
    exported.add((Client("shop"), Client("bank")))
    assert [each["client_id"] for each in labels(exported.sources)] == ["shop", "shop-2", "shop-3", "bank"]


def test_a_number_is_free_again_after_its_client_was_removed() -> None:
    exported = ExportedSources()
    exported.add((Client("shop"),))
    second = exported.add((Client("shop"),))
    exported.add((Client("shop"),))
    exported.remove(second)
    exported.remove(second)
    exported.add((Client("shop"),))
    assert [each["client_id"] for each in labels(exported.sources)] == ["shop", "shop-3", "shop-2"]


def test_a_client_is_exported_once() -> None:
    exported = ExportedSources()
    client = Client("shop")
    exported.add((client,))
    with pytest.raises(ConfigurationError, match="<Client shop> is exported already"):
        exported.add((Client("bank"), client))
    assert len(exported.sources) == 1  # neither of the call's clients was added


def test_clients_without_a_client_id_cannot_be_told_apart() -> None:
    class Worker:
        telemetry = TelemetrySource((("group", "invoices"),), (FAMILY,), list)

    with pytest.raises(ConfigurationError, match=r"of its kind has the same labels, {.group.: .invoices.}"):
        ExportedSources().add((Worker(), Worker()))


def test_what_has_no_metrics_is_refused_with_what_has_some() -> None:
    with pytest.raises(
        ConfigurationError, match=r"Cannot export 'consumer': it has no metrics\. Pass a KafkaShareConsumer"
    ):
        ExportedSources().add(("consumer",))
