"""The application: routes, and what stands around them.

Middleware is listed from the outside in: what refuses must stand inside of what puts headers on every answer.
"""

from importlib.metadata import version

from fastapi import FastAPI
from starlette.middleware import Middleware

from activities.artifacts import Artifacts
from activities.notices.decision_links import Links
from surefoot import console
from surefoot.client import Client
from surefoot.http import (
    batch_streams,
    batches,
    documents,
    hooks,
    inbox,
    jobs,
    lanes,
    problems,
    queues,
    reading,
    schedules,
    signing,
)
from surefoot.http.access import Access
from surefoot.http.access_log import AccessLog
from surefoot.http.bodies import Bodies
from surefoot.http.looks import Looks
from surefoot.http.offered import Offered
from surefoot.http.origins import Hosts
from surefoot.http.paths import Segments
from surefoot.http.shield import Shield
from surefoot.http.streams import Streams
from surefoot.http.uploads import Uploads

API = "/api/v1"


def create_app(
    client: Client,
    access: Access,
    *,
    temporal_ui: str | None = None,
    artifacts: Artifacts | None = None,
    links: Links | None = None,
    offered: Offered | None = None,
) -> FastAPI:
    """The HTTP API of the jobs that `client` reaches. `temporal_ui` is where Temporal's own pages are.

    `artifacts` has the whole outputs of tools, `links` reads decision links; without them both are as the environment
    says. `offered` knows which agents there are; without it jobs are started with any name that an agent may have.
    """
    hosts = [Middleware(Hosts, names=access.hosts)] if access.hosts is not None else []
    app = FastAPI(
        title="Surefoot",
        version=version("surefoot"),
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,  # they would lead to wherever the Host header says
        middleware=[
            Middleware(AccessLog),
            Middleware(Shield),
            *hosts,
            Middleware(Bodies, files=[("POST", f"{API}/batches")]),
            Middleware(Segments),
        ],
    )
    app.state.client, app.state.access, app.state.temporal_ui = client, access, temporal_ui
    app.state.artifacts, app.state.streams = artifacts or Artifacts.from_environment(), Streams()
    app.state.uploads = Uploads.from_environment()
    app.state.links = links or Links.from_environment()
    app.state.offered, app.state.looks = offered, Looks()
    app.state.hooks = hooks.Hooks.from_environment()
    problems.install(app)
    for router in (
        signing.router,
        inbox.router,
        reading.router,
        jobs.router,
        batch_streams.router,
        batches.router,
        schedules.router,
        queues.router,
        lanes.router,
    ):
        app.include_router(router, prefix=API)
    app.include_router(hooks.router)
    app.include_router(documents.router)
    app.include_router(console.router())
    return app
