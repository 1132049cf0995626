"""Forms by which people submit a batch and tell it something. Each leads back to the page of the batch."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError
from starlette.datastructures import UploadFile

from surefoot.batches import Batch
from surefoot.batches.retrying import retry
from surefoot.console.batches import new_batch_page
from surefoot.console.pages import Form, PageRoute, Submitter, client_of, filled_in, reason_in, typed
from surefoot.console.rendering import batch_url
from surefoot.errors import SurefootError
from surefoot.http.batch_requests import BatchOptions, CancelBatch, ResumeBatch, SetConcurrency
from surefoot.http.batches import id_of, submit
from surefoot.http.problems import Refusal, invalid_request, problem_of

Tell = Callable[[Batch, Form, str], Awaitable[object]]
"""Tells a batch something, in the name of a person."""

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.post("/new-batch")
async def submit_file(request: Request, person: Submitter) -> Response:
    """The file of a form, which has room for less than the API takes."""
    form, sent = await typed(request), (await request.form()).get("file")
    key = form.get("key", "")
    try:
        options = BatchOptions.model_validate(filled_in(form, "agent", "template", "concurrency", "queue", "skip_bad"))
        if not isinstance(sent, UploadFile) or not sent.filename:
            raise Refusal(422, "no-file", "Choose a file: one job a line.")
        if key:  # made with the form, so that a second click finds the same batch
            options = options.model_copy(update={"id": id_of(key)})
        made = await submit(request, person, sent.file, options)
        return RedirectResponse(batch_url(made.batch), 303)
    except ValidationError as error:
        problem = invalid_request(error.errors())
    except (SurefootError, Refusal) as error:
        problem = problem_of(error)
    finally:
        if isinstance(sent, UploadFile):
            await sent.close()
    return await new_batch_page(
        request, person, form, key, problem=problem.detail, faults=problem.faults or (), status=problem.status
    )


@router.post("/batch-words/{what}")
async def tell(request: Request, what: str, batch: str, person: Submitter) -> Response:
    """`what` is a word of `WORDS`."""
    if what not in WORDS:
        raise Refusal(404, "no-such-word", f"a batch can't be told {what[:50]!r}, but {', '.join(WORDS)}")
    try:
        await WORDS[what](client_of(request).batches[batch], await typed(request), person.name)
    except ValidationError as error:
        raise Refusal(422, "invalid-request", invalid_request(error.errors()).detail) from None
    return RedirectResponse(batch_url(batch), 303)


async def _pause(batch: Batch, form: Form, by: str) -> None:
    await batch.pause(by=by, reason=reason_in(form))


async def _resume(batch: Batch, form: Form, by: str) -> None:
    sent = ResumeBatch.model_validate(filled_in(form, "budget_usd", "budget_tokens"))
    await batch.resume(by=by, budget=sent.budget())


async def _concurrency(batch: Batch, form: Form, by: str) -> None:
    sent = SetConcurrency.model_validate(filled_in(form, "concurrency"))
    await batch.set_concurrency(sent.concurrency, by=by)


async def _cancel(batch: Batch, form: Form, by: str) -> None:
    sent = CancelBatch.model_validate(filled_in(form, "running"))
    await batch.cancel(sent.running, by=by)


async def _retry(batch: Batch, _: Form, __: str) -> None:
    await retry(batch)


WORDS: dict[str, Tell] = {
    "pause": _pause,
    "resume": _resume,
    "concurrency": _concurrency,
    "cancel": _cancel,
    "retry": _retry,
}
