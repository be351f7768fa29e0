"""What all tests share: the fixtures of the test kit that users get too."""

pytest_plugins = ["kafka_groups.testing.pytest_plugin", "pytester"]
