"""What the API is, for programs (OpenAPI) and for people: a page of our own, since the usual ones load foreign scripts.

Both are for everybody: they say what this software can do, and nothing of what is in it.
"""

import html
from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, JSONResponse

from surefoot.http.origins import HEALTH
from surefoot.http.problems import Problem

router = APIRouter(include_in_schema=False)

REF = "#/components/schemas/{model}"
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<h1>{title} {version}</h1>
<p>{about} The same for programs: <a href="openapi.json">openapi.json</a>.</p>
{routes}
</html>
"""


@router.get(HEALTH)
async def healthz() -> dict[str, str]:
    """This process answers."""
    return {"status": "ok"}


@router.get("/openapi.json")
async def openapi(request: Request) -> JSONResponse:
    return JSONResponse(document(request.app))


@router.get("/docs")
async def docs(request: Request) -> HTMLResponse:
    return HTMLResponse(page(document(request.app)))


def document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of an application."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title,
            version=app.version,
            description=(
                "Durable agent jobs, and the decisions that wait for people. Errors are problems (RFC 9457):"
                " `type` is stable, `detail` is for people."
            ),
            routes=app.routes,
        )
        schemas = made.setdefault("components", {}).setdefault("schemas", {})
        problem = Problem.model_json_schema(ref_template=REF)
        for name, schema in problem.pop("$defs", {}).items():
            schemas.setdefault(name, schema)
        schemas["Problem"] = problem
        app.openapi_schema = made
    return app.openapi_schema


def page(made: dict[str, Any]) -> str:
    """The document to be read. Without styles and scripts, it needs no exception from any policy."""
    info = made["info"]
    return PAGE.format(
        title=html.escape(info["title"]),
        version=html.escape(info["version"]),
        about=html.escape(info["description"]),
        routes="\n".join(_sections(made)),
    )


def _sections(made: dict[str, Any]) -> Iterator[str]:
    for path, methods in made["paths"].items():
        for method, route in methods.items():
            yield f"<h2><code>{method.upper()} {html.escape(path)}</code></h2>"
            yield f"<p>{html.escape(route.get('description', route['summary']))}</p>"
            given = [f"{each['name']} ({each['in']})" for each in route.get("parameters", [])]
            if given:
                yield f"<p>Parameters: {html.escape(', '.join(given))}</p>"
            body = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            if body:
                names = ", ".join(_names(body)) or "JSON"
                yield f"<p>Body: {html.escape(names)}</p>"


def _names(schema: dict[str, Any]) -> Iterator[str]:
    """The names of the models that a schema may be."""
    for each in schema.get("oneOf") or [schema]:
        if "$ref" in each:
            yield each["$ref"].rpartition("/")[2]
