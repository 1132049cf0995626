"""The web console: pages for people, on top of `surefoot.http`, which says who they are.

Every action is a plain form that works without a script; the script in `static/` adds keys and updates.
"""

from fastapi import APIRouter

from surefoot.console import (
    assets,
    batch_words,
    batches,
    decide_link,
    deciding,
    editing,
    inbox,
    jobs,
    lanes,
    queues,
    saying,
    schedule_forms,
    schedules,
    sign_in,
    telling,
)


def router() -> APIRouter:
    """All of the console's routes."""
    whole = APIRouter()
    of_jobs = (inbox, editing, deciding, decide_link, jobs, saying, telling)
    for part in (assets, sign_in, *of_jobs, batches, batch_words, lanes, queues, schedules, schedule_forms):
        whole.include_router(part.router)
    return whole
