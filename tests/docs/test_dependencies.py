"""The page about dependencies is what the generator makes, and no licence is among them that some may not use."""

import subprocess
import sys

from attrs import evolve

from tests.generating.dependencies import COMMAND, EXCEPTIONS, PAGE, Dependency, dependencies, page, refused


def test_each_dependency_has_a_licence_that_anyone_may_use() -> None:
    assert refused(dependencies()) == []


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(dependencies()), f"run {COMMAND}"


def test_other_licences_and_missing_ones_are_refused() -> None:
    free = Dependency("a", ("MIT", "GPL or BSD"), ())
    assert refused([free]) == []
    for licences in ((), ("LGPL",), ("MIT", "GPL"), ("Something else",)):
        (problem,) = refused([evolve(free, licences=licences)])
        assert problem.startswith(f"a has the licence {', '.join(licences) or 'nobody names'}: ")


def test_each_exception_is_needed() -> None:
    assert {problem.split()[0] for problem in refused(dependencies(), {})} == set(EXCEPTIONS)


def test_nothing_imports_the_package_with_the_lgpl() -> None:
    program = """
import sys
sys.modules["crc32c"] = None  # an import of it raises ImportError
from kafka_groups import KafkaShareConsumer
from kafka_groups.broker.cluster import EmbeddedCluster
with EmbeddedCluster() as cluster:
    cluster.create_topic("orders")
    cluster.alter_group_configs("invoices", {"share.auto.offset.reset": "earliest"})
    cluster.produce("orders", [b"order 1"])
    with KafkaShareConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id="invoices") as consumer:
        consumer.subscribe(["orders"])
        while not (records := list(consumer.poll(timeout=1))):
            pass
        print(records[0].value.decode())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("order 1\n", 0), done.stderr


def test_what_spark_needs_is_not_installed_always() -> None:
    extras = {each.name: each.extras for each in dependencies()}
    assert "spark" in extras["pyspark"]
    assert extras["google-crc32c"] == extras["attrs"] == ()
