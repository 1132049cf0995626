"""Schedules on a real server: what they start is a job like any other."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.client import Schedule as TemporalSchedule
from temporalio.client import ScheduleActionStartWorkflow, ScheduleSpec

from activities.agents import Agent
from activities.providers.script import Script
from surefoot.errors import NoSuchSchedule, ScheduleConflict, WrongValue
from surefoot.schedules import ScheduleView, Terms
from tests.conftest import Host
from tests.waiting import until
from workflows import labels
from workflows.contracts import Limits, Message

WORKER = Agent("worker", Script([{"text": "done", "repeat": True}]))
DAILY = Terms(cron=["0 6 * * *"])


async def test_a_fired_job_is_found_labelled_and_answered_as_any_other(host: Host) -> None:
    async with host(WORKER) as client:
        made = await client.schedules.create(
            "labels", "worker", "count", DAILY, tenant="acme", tags=["night"], by="Ana", limits=Limits(rounds=3)
        )
        await made.trigger()
        view = await until(made.view, lambda view: bool(view.recent))
        job = client.job(view.recent[0].job)
        outcome = await job.outcome()
        seen, row = await job.view(), await job.row()

        assert (outcome.status, outcome.answer) == ("complete", "done")
        assert (seen.by, seen.tenant, seen.tags, seen.limits.rounds) == ("Ana", "acme", ["night"], 3)
        assert (row.agent, row.tenant, row.tags, row.status) == ("worker", "acme", ("night",), "complete")
        assert job.id.startswith("labels-20")
        replied = await client.reply(job.id, "again")
        assert (await replied.outcome()).status == "complete"


async def test_an_interval_fires_by_itself(host: Host) -> None:
    async with host(WORKER) as client:
        terms = Terms(every=timedelta(seconds=1), overlap="allow_all")
        made = await client.schedules.create("often", "worker", "go", terms)
        view = await until(made.view, lambda view: (view.fired or 0) >= 2)
        await made.delete()

        jobs = [fired.job for fired in view.recent]
        assert len(set(jobs)) == len(jobs) >= 2
        assert all((fired.started_at - fired.due_at) < timedelta(minutes=1) for fired in view.recent)


async def test_a_paused_schedule_says_why_and_goes_on_when_it_is_resumed(host: Host) -> None:
    async with host(WORKER) as client:
        made = await client.schedules.create("held", "worker", "go", DAILY)
        await made.pause(by="Ana", reason="holidays")
        held = await made.view()
        await made.resume(by="Bo")
        again = await made.view()

        assert (held.paused, held.note) == (True, "holidays")
        assert (again.paused, again.note) == (False, "resumed by Bo")


async def test_a_list_has_every_schedule_of_jobs_until_it_is_deleted(host: Host) -> None:
    async with host(WORKER) as client:
        made = await client.schedules.create("listed", "worker", "go", DAILY, tenant="acme", paused=True)

        async def found() -> list[ScheduleView]:
            return [view for view in await client.schedules.list() if view.schedule == "listed"]

        (view,) = await until(found, bool)
        assert (view.agent, view.message, view.tenant, view.terms, view.paused) == ("worker", "go", "acme", DAILY, True)
        await made.delete()
        await until(found, lambda views: not views)
        with pytest.raises(NoSuchSchedule, match="there is no schedule 'listed'"):
            await made.view()


async def test_the_same_schedule_is_created_once_and_another_one_needs_another_id(host: Host) -> None:
    async with host(WORKER) as client:
        first = await client.schedules.create("once", "worker", "go", DAILY, by="Ana")
        await first.pause(by="Ana")
        again = await client.schedules.create("once", "worker", "go", DAILY, by="Bo")
        assert (await again.view()).paused
        with pytest.raises(ScheduleConflict, match="exists already"):
            await client.schedules.create("once", "worker", "stop", DAILY)


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        (Terms(cron=["61 * * * *"]), "Minute is not in range"),
        (Terms(cron=["hello"]), "CronString does not have 5-7 fields"),
        (Terms(cron=["0 6 * * *"], timezone="Mars/Base"), "unknown time zone Mars/Base"),
        (Terms(cron=["0 0 30 2 *"]), "would never fire"),
        (Terms(), "nothing says when it fires"),
        (Terms(every=timedelta(milliseconds=500)), "at most once a second"),
        (Terms(every=timedelta(hours=1), catch_up=timedelta(seconds=1)), "10 seconds at least"),
        (Terms(every=timedelta(hours=1), jitter=timedelta(seconds=-1)), "can only be late"),
        (
            Terms(cron=["0 6 * * *"], start=datetime(2027, 1, 2, tzinfo=UTC), end=datetime(2027, 1, 1, tzinfo=UTC)),
            "before it starts",
        ),
    ],
)
async def test_times_that_can_not_be_are_refused_with_the_reason(host: Host, terms: Terms, told: str) -> None:
    async with host(WORKER) as client:
        with pytest.raises(WrongValue, match=told):
            await client.schedules.create("refused", "worker", "go", terms)
        with pytest.raises(NoSuchSchedule):
            await client.schedules["refused"].view()


async def test_an_hour_that_a_change_of_clocks_leaves_out_does_not_fire_and_a_doubled_one_fires_once(
    host: Host,
) -> None:
    async with host(WORKER) as client:
        spring = Terms(cron=["30 2 * 3 *"], timezone="Europe/Berlin", start=datetime(2027, 3, 27, tzinfo=UTC))
        autumn = Terms(cron=["30 2 * 10 *"], timezone="Europe/Berlin", start=datetime(2027, 10, 30, tzinfo=UTC))
        short = await (await client.schedules.create("spring", "worker", "go", spring)).view()
        long = await (await client.schedules.create("autumn", "worker", "go", autumn)).view()

        # 28 March has no 02:30; on 31 October it is meant by the later of two.
        assert short.next[:2] == [datetime(2027, 3, 27, 1, 30, tzinfo=UTC), datetime(2027, 3, 29, 0, 30, tzinfo=UTC)]
        assert long.next[:2] == [datetime(2027, 10, 30, 0, 30, tzinfo=UTC), datetime(2027, 10, 31, 1, 30, tzinfo=UTC)]
        assert [at.year for at in long.next[:3]] == [2027, 2027, 2028]


async def test_by_default_no_job_starts_while_the_last_one_runs(host: Host) -> None:
    never = Agent("never", Script([{"text": "done"}]))
    async with host() as client:  # no agent is known here, so the job of the first firing goes on looking for it
        made = await client.schedules.create("busy", never.name, "go", DAILY)
        await made.trigger()
        await until(made.view, lambda view: len(view.running) == 1)
        await made.trigger()
        view = await until(made.view, lambda view: view.skipped == 1)

        assert len(view.recent) == 1
        await client.job(view.recent[0].job).handle().terminate()


async def test_an_id_that_leaves_no_room_for_its_jobs_ids_is_refused(host: Host) -> None:
    async with host(WORKER) as client:
        for id in ("", "x" * 901):
            with pytest.raises(WrongValue, match="1 to 900 bytes"):
                await client.schedules.create(id, "worker", "go", DAILY)
        long = await client.schedules.create("x" * 900, "worker", "go", DAILY)
        await long.trigger()
        view = await until(long.view, lambda view: bool(view.recent))

        assert (await client.job(view.recent[0].job).outcome()).answer == "done"


async def test_what_others_scheduled_is_no_schedule_of_ours(host: Host) -> None:
    async with host(WORKER) as client:
        other = ScheduleActionStartWorkflow(labels.WORKFLOW, "?", id="foreign", task_queue="none")
        spec = ScheduleSpec(cron_expressions=["0 6 * * *"])
        await client.temporal.create_schedule("foreign", TemporalSchedule(action=other, spec=spec))

        with pytest.raises(NoSuchSchedule, match="was not made by Surefoot"):
            await client.schedules["foreign"].view()
        assert "foreign" not in [view.schedule for view in await client.schedules.list()]


async def test_what_is_changed_holds_from_the_next_firing_on_and_all_else_stays(host: Host) -> None:
    async with host(WORKER, Agent("other", WORKER.model)) as client:
        made = await client.schedules.create(
            "edited", "worker", "count", Terms(cron=["0 6 * * *"], timezone="Europe/Berlin", overlap="allow_all"),
            tenant="acme", tags=["night"], limits=Limits(rounds=3), priority=2, by="Ana",
        )  # fmt: skip
        await made.trigger()
        await until(made.view, lambda view: view.fired == 1 and _is_over(view.recent[0].due_at))
        await made.set(by="Bo", cron=["0 7 * * *"], message="count twice", limits=Limits(tool_calls=5), weight=2.0)
        await made.trigger()
        view = await until(made.view, lambda view: view.fired == 2)
        first, second = [await client.job(fired.job).view() for fired in reversed(view.recent)]
        said = [(await client.job(each.job).transcript())[0] for each in (first, second)]

        assert (view.terms.cron, view.terms.timezone, view.terms.overlap) == (
            ["0 7 * * *"],
            "Europe/Berlin",
            "allow_all",
        )
        assert (view.message, view.agent, view.tenant, view.tags) == ("count twice", "worker", "acme", ["night"])
        assert (view.by, view.note, view.priority, view.weight) == ("Bo", "changed by Bo", 2, 2.0)
        assert (first.by, first.limits.rounds, first.limits.tool_calls) == ("Ana", 3, 30)
        assert (second.by, second.limits.rounds, second.limits.tool_calls) == ("Bo", 3, 5)
        assert [entry.text for entry in said if isinstance(entry, Message)] == ["count", "count twice"]


def _is_over(second: datetime) -> bool:
    """A job's id has the second in which it was due, so two firings within one would be one job."""
    return datetime.now(UTC) > second + timedelta(seconds=1)


async def test_what_is_named_as_none_is_taken_away(host: Host) -> None:
    async with host(WORKER) as client:
        terms = Terms(cron=["0 6 * * *"], timezone="Europe/Berlin", jitter=timedelta(minutes=5))
        made = await client.schedules.create("less", "worker", "go", terms, tenant="acme", limits=Limits(rounds=3))
        await made.set(by="Bo", cron=None, every=timedelta(hours=1), timezone=None, tenant=None, limits=None)
        view = await made.view()

        assert view.terms == Terms(every=timedelta(hours=1), jitter=timedelta(minutes=5))
        assert (view.tenant, view.limits) == (None, None)


async def test_a_paused_schedule_that_is_changed_stays_paused_and_says_why(host: Host) -> None:
    async with host(WORKER) as client:
        made = await client.schedules.create("still", "worker", "go", DAILY)
        await made.pause(by="Ana", reason="holidays")
        await made.set(by="Bo", message="stop")
        view = await made.view()

        assert (view.paused, view.note, view.message) == (True, "holidays", "stop")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"cron": ["61 * * * *"]}, "Minute is not in range"),
        ({"timezone": "Mars/Base"}, "unknown time zone Mars/Base"),
        ({"cron": ["0 0 30 2 *"]}, "would never fire again"),
        ({"cron": None}, "nothing says when it fires"),
        ({"agent": "no such name"}, "no agent can be called"),
        ({"agent": None}, "a schedule needs its agent"),
        ({"queue": "by night"}, "no queue can be called"),
        ({"priority": 6}, "priority 6 does not exist"),
        ({}, "nothing to change in schedule refused-change"),
    ],
)
async def test_a_change_that_can_not_be_is_refused_and_changes_nothing(
    host: Host, changes: dict[str, Any], told: str
) -> None:
    async with host(WORKER) as client:
        made = await client.schedules.create("refused-change", "worker", "go", DAILY, by="Ana")
        with pytest.raises(WrongValue, match=told):
            await made.set(by="Bo", **changes)
        view = await made.view()

        assert (view.terms, view.agent, view.by, view.note) == (DAILY, "worker", "Ana", "created by Ana")
        assert view.next


async def test_creating_a_changed_schedule_again_as_it_was_or_as_it_is_finds_it(host: Host) -> None:
    async with host(WORKER) as client:
        made = await client.schedules.create("kept", "worker", "go", DAILY, weight=0.1, by="Ana")
        await made.set(by="Bo", message="stop")
        assert (await made.view()).weight == 0.1
        for message in ("go", "stop"):
            again = await client.schedules.create("kept", "worker", message, DAILY, weight=0.1)
            assert (await again.view()).message == "stop"
        with pytest.raises(ScheduleConflict, match="delete it first, change it, or choose another id"):
            await client.schedules.create("kept", "worker", "wait", DAILY)


async def test_a_list_says_what_schedules_were_changed_to(host: Host) -> None:
    async with host(WORKER) as client:
        made = await client.schedules.create("relisted", "worker", "go", DAILY)
        await made.set(by="Bo", message="stop", queue="nightly")

        async def found() -> list[ScheduleView]:
            return [view for view in await client.schedules.list() if view.schedule == "relisted"]

        (view,) = await until(found, bool)
        assert (view.message, view.queue, view.fired) == ("stop", "nightly", 0)
