import pytest

from kafka_groups.broker.authorization.hosts import is_in_block, is_same_host


@pytest.mark.parametrize(
    ("pattern", "host", "expected"),
    [
        ("*", "10.1.2.3", True),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "10.1.2.4", False),
        ("localhost", "127.0.0.1", False),
        ("10.1.2.0/24", "10.1.2.3", False),
    ],
)
def test_hosts_are_compared_as_text(pattern: str, host: str, expected: bool) -> None:
    assert is_same_host(pattern, host) is expected


@pytest.mark.parametrize(
    ("pattern", "host", "expected"),
    [
        ("10.1.2.0/24", "10.1.2.3", True),
        ("10.1.2.9/24", "10.1.2.3", True),
        ("10.1.2.0/24", "10.1.3.3", False),
        ("10.1.2.3/32", "10.1.2.3", True),
        ("0.0.0.0/0", "10.1.2.3", True),
        ("::1/128", "0:0:0:0:0:0:0:1", True),
        ("::/0", "10.1.2.3", False),
        ("/10.1.2.3", "10.1.2.3", False),
        ("10.1.2.3", "10.1.2.3", False),
        ("10.0.0.0/8", "a-client-in-memory", False),
    ],
)
def test_a_block_has_the_addresses_in_it(pattern: str, host: str, expected: bool) -> None:
    assert is_in_block(pattern, host) is expected
