"""Turns view models into HTML; the one place that knows how a stranger's text becomes harmless.

Whatever a template prints is escaped as HTML, and characters that would act on a reader (controls, bidirectional
overrides) are spelled out: `finalize` sees every expression, so no template can forget it.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from activities.escaping import escaped
from surefoot.console import values, words
from surefoot.console.assets import address
from surefoot.folding import folded


def render(template: str, **context: Any) -> str:
    """The page or fragment `template` with this context."""
    return _environment().get_template(template).render(**context)


def job_url(job: str, **query: object) -> str:
    """Where a job's page is. An id that no path can hold, such as `..`, goes into the query."""
    return _page("/jobs", job, query)


def _page(folder: str, id: str, query: Mapping[str, object]) -> str:
    plain = all(part not in ("", ".", "..") for part in id.split("/"))
    path = f"{folder}/{quote(id, safe='')}" if plain else f"{folder}/-"
    return with_query(path, query if plain else {"id": id, **query})


def call_url(page: str, job: str, call: str, **query: object) -> str:
    """A page about one call: `card`, `edit`, `grant`, …"""
    return with_query(f"/inbox/{page}", {"job": job, "call": call, **query})


def tell_url(what: str, job: str) -> str:
    """Where a form goes that tells a job something."""
    return with_query(f"/tell/{what}", {"job": job})


def batch_url(batch: str) -> str:
    """Where a batch's page is."""
    return _page("/batches", batch, {})


def batch_word_url(what: str, batch: str) -> str:
    """Where a form goes that tells a batch something."""
    return with_query(f"/batch-words/{what}", {"batch": batch})


def results_url(batch: str, **query: object) -> str:
    """What became of a batch's lines, from the API."""
    return with_query(f"/api/v1/batches/{quote(batch, safe='')}/results", query)


def lane_word_url(what: str, lane: str) -> str:
    """Where a form goes that changes a lane."""
    return with_query(f"/lane-words/{what}", {"lane": lane})


def queue_url(queue: str) -> str:
    """Where a queue's page is."""
    return _page("/queues", queue, {})


def queue_word_url(what: str, queue: str) -> str:
    """Where a form goes that changes a queue."""
    return with_query(f"/queue-words/{what}", {"queue": queue})


def schedule_url(schedule: str) -> str:
    """Where a schedule's page is."""
    return _page("/schedules", schedule, {})


def schedule_word_url(what: str, schedule: str) -> str:
    """Where a form goes that tells a schedule something."""
    return with_query(f"/schedule-words/{what}", {"schedule": schedule})


def saying_url(job: str) -> str:
    """What the model of a job is just saying."""
    return with_query("/saying", {"job": job})


def output_url(job: str, call: str) -> str:
    """The whole output of a call, from the API."""
    return f"/api/v1/jobs/{quote(job, safe='')}/calls/{quote(call, safe='')}/output"


def with_query(path: str, query: Mapping[str, object]) -> str:
    given = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in query.items() if value not in (None, ""))
    return f"{path}?{given}" if given else path


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("surefoot.console"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    said = (words.age, words.amount, words.moment, words.money, words.plural, words.span, words.until)
    environment.filters |= {each.__name__: each for each in said}
    environment.filters |= {
        "node": values.node,
        "text": values.text,
        "as_json": values.as_json,
        "brief": values.brief,
        "iso": _iso,
        "folded": folded,
    }
    environment.globals |= {
        "job_url": job_url,
        "call_url": call_url,
        "tell_url": tell_url,
        "output_url": output_url,
        "saying_url": saying_url,
        "batch_url": batch_url,
        "batch_word_url": batch_word_url,
        "results_url": results_url,
        "lane_word_url": lane_word_url,
        "queue_url": queue_url,
        "queue_word_url": queue_word_url,
        "schedule_url": schedule_url,
        "schedule_word_url": schedule_word_url,
        "with_query": with_query,
        "static": address,
    }
    return environment


def _harmless(value: object) -> object:
    if value is None:
        return ""
    return escaped(value) if type(value) is str else value  # what is marked as HTML is ours


def _iso(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
