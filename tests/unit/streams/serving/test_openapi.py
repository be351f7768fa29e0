from typing import Any

from starlette.routing import Route

from kafka_groups.streams.serving.openapi import DESCRIPTION
from kafka_groups.streams.serving.routes import routes


def test_each_address_is_described() -> None:
    app: Any = None
    paths = {route.path for route in routes(app).routes if isinstance(route, Route)} - {"/openapi.json"}
    assert set(DESCRIPTION["paths"]) == paths


def test_each_parameter_has_a_place_a_schema_and_a_text() -> None:
    parameters = [each for path in DESCRIPTION["paths"].values() for each in path["get"].get("parameters", [])]
    assert len(parameters) > 10
    for each in parameters:
        assert each["schema"]["type"] in {"string", "integer", "boolean"}
        assert each["in"] == "path" or each["description"].endswith(".")
