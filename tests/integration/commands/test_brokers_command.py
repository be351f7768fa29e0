"""`kafka-groups brokers`: brokers and their configurations."""

from tests.support.commands import Commands
from tests.support.conditions import wait_until

KEY = "log.cleaner.backoff.ms"


def test_brokers_are_listed(run: Commands) -> None:
    host, port = run.servers.split(",")[0].rsplit(":", 1)
    head, *rows = (line.split() for line in run.lines("brokers", "list"))
    assert head == ["BROKER", "HOST", "PORT", "RACK"]
    (entry,) = run.document("brokers", "list")["items"]
    assert (entry["port"], entry["rack"]) == (int(port), None)
    assert rows == [[str(entry["broker"]), entry["host"], port, "-"]]
    assert run.lines("brokers", "list", "--quiet") == [str(entry["broker"])]
    assert host


def test_configurations_of_a_broker_are_printed_and_changed(run: Commands) -> None:
    (broker,) = run.lines("brokers", "list", "--quiet")
    assert "num.partitions" in [line.split()[0] for line in run.lines("brokers", "configs", broker)]
    assert {each["name"] for each in run.document("brokers", "configs")["items"]} == {broker}
    assert run.lines("brokers", "configs")[0].split() == ["NAME", "KEY", "VALUE", "SOURCE"]

    for name, words in ((broker, [broker]), ("", ["--all-brokers"])):
        changed = run.document("brokers", "configs", *words, "--set", f"{KEY}=15007", kind="brokers configs --set")
        assert changed["items"] == [{"kind": "broker", "name": name, "key": KEY, "value": "15007"}]

        def is_set(words: list[str] = words) -> bool:
            found = {each["key"]: each for each in run.document("brokers", "configs", *words)["items"]}
            return KEY in found and found[KEY]["set"]

        wait_until(is_set)
        run.lines("brokers", "configs", *words, "--unset", KEY)
        wait_until(lambda: not is_set())


def test_mistakes_are_named(run: Commands) -> None:
    unknown = run("brokers", "configs", "7777")
    assert (unknown.exit_code, unknown.stdout) == (1, "")
    assert unknown.stderr.startswith("broker 7777: ")
    both = run("brokers", "configs", "1", "--all-brokers")
    assert both.exit_code == 2
    assert "Give either BROKER or --all-brokers." in both.stderr
    none = run("brokers", "configs", "--set", "log.retention.ms=1")
    assert none.exit_code == 2
    assert "Give BROKER or --all-brokers with --set and --unset." in none.stderr
