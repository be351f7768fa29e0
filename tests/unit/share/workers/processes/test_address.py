"""The names by which other processes import a worker."""

import sys
from types import ModuleType

import pytest

from kafka_groups import Worker
from kafka_groups.errors import ConfigurationError
from kafka_groups.share.workers.processes.address import WorkerAddress, address_of


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("shop_of_this_test")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def test_a_worker_is_found_by_its_name_in_a_module(shop: ModuleType) -> None:
    shop.__dict__["invoices"] = worker = Worker("shop", bootstrap_servers="localhost:9092")
    found = address_of(worker)
    assert found == WorkerAddress("shop_of_this_test", "invoices")
    assert str(found) == "shop_of_this_test:invoices"
    assert found.load(Worker) is worker


def test_another_module_is_preferred_to_the_program(shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.__dict__["worker"] = worker = Worker("shop", bootstrap_servers="localhost:9092")
    main = ModuleType("__main__")
    monkeypatch.setattr(main, "__file__", "shop.py", raising=False)
    monkeypatch.setattr(main, "worker", worker, raising=False)
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert address_of(worker).module == "shop_of_this_test"
    del shop.__dict__["worker"]
    assert address_of(worker).module == main.__name__


def test_a_worker_without_a_name_is_refused() -> None:
    with pytest.raises(
        ConfigurationError, match=r"has no name that other processes could import.*top level of a module"
    ):
        address_of(Worker("shop", bootstrap_servers="localhost:9092"))


def test_what_sys_modules_has_besides_modules_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "not_a_module", object())
    with pytest.raises(ConfigurationError, match="has no name"):
        address_of(Worker("shop", bootstrap_servers="localhost:9092"))


def test_another_thing_of_that_name_is_refused(shop: ModuleType) -> None:
    shop.__dict__["worker"] = "a text"
    with pytest.raises(ConfigurationError, match="shop_of_this_test:worker is 'a text' in a worker process, and not"):
        WorkerAddress("shop_of_this_test", "worker").load(Worker)
