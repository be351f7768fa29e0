"""The addresses of the server, as an application of starlette."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kafka_groups.streams.serving.answering import HttpQuestion, KeptViews, Queried, answer, stores_of
from kafka_groups.streams.serving.json_values import json_text
from kafka_groups.streams.serving.openapi import DESCRIPTION
from kafka_groups.streams.serving.owners import FORWARDED, HttpDocument
from kafka_groups.streams.serving.reading import METHODS

__all__ = ["routes"]

_NOT_NOW = 503
_RETRY = {"Retry-After": "1"}


def routes(app: Queried) -> Starlette:
    """Return what answers for an application. starlette calls functions that are not `async` in threads."""
    views = KeptViews(app)

    def stores(_request: Request) -> Response:
        return _response(stores_of(app))

    def store(request: Request) -> Response:
        return _response(answer(views, _question(request)))

    def description(_request: Request) -> Response:
        return _response(HttpDocument(200, json_text(DESCRIPTION)))

    return Starlette(
        routes=[
            Route("/openapi.json", description),
            Route("/stores", stores),
            *(Route(f"/stores/{{store}}/{method}", store, name=method) for method in METHODS),
        ]
    )


def _question(request: Request) -> HttpQuestion:
    path = request.url.path
    return HttpQuestion(
        store=request.path_params["store"],
        method=path.rpartition("/")[2],
        parameters=request.query_params,
        target=f"{path}?{request.url.query}",
        is_forwarded=FORWARDED in request.headers,
    )


def _response(found: HttpDocument) -> Response:
    return Response(
        found.body, found.status, _RETRY if found.status == _NOT_NOW else None, media_type="application/json"
    )
