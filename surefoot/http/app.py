"""The application: routes, and what stands around them.

Middleware is listed from the outside in: what refuses must stand inside of what puts headers on every answer.
"""

from fastapi import FastAPI
from starlette.middleware import Middleware

from surefoot.client import Client
from surefoot.http import problems
from surefoot.http.access import Access
from surefoot.http.origins import Hosts
from surefoot.http.paths import Segments
from surefoot.http.shield import Bodies, Shield

API = "/api/v1"


def create_app(client: Client, access: Access, *, temporal_ui: str | None = None) -> FastAPI:
    """The HTTP API of the jobs that `client` reaches. `temporal_ui` is where Temporal's own pages are."""
    hosts = [Middleware(Hosts, names=access.hosts)] if access.hosts is not None else []
    app = FastAPI(
        title="Surefoot",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        middleware=[Middleware(Shield), *hosts, Middleware(Bodies), Middleware(Segments)],
    )
    app.state.client, app.state.access, app.state.temporal_ui = client, access, temporal_ui
    problems.install(app)

    @app.get("/healthz", tags=["server"], include_in_schema=False)
    async def healthz() -> dict[str, str]:
        """This process answers."""
        return {"status": "ok"}

    return app
