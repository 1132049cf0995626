"""What a model sees of a job's entries in an epoch: old results by their beginnings, and older entries as a summary.

Pure: the entries stay as they are, and the same epoch makes the same of them each time, however many came since. A word
changed here changes what running jobs send next, and so breaks a provider's prompt cache once.
"""

from collections.abc import Sequence

from workflows.contracts import Audit, Entry, Epoch, Logged, Message, Note, Result, Turn

KEPT_TURNS = 2
"""The last turns, with their results, are never cut short: the model is at work on them."""

KEPT_CHARS = 200
LONG_RESULT = 800
"""A result of fewer characters is left alone."""

LONG_MESSAGE = 40_000
"""Most characters of a person's message that stand in front of a summary."""

STUB = (
    "{kept}\n[left out to make room: the rest of this result, which had {chars:,} characters. The call is done; make it"
    " again only if you need its result and it merely reads]"
)
CUT_MESSAGE = "{kept}\n[the rest of this message, which had {chars:,} characters, was left out to make room]"
SUMMARY = "What was said and done before this, except for the messages here, summed up to make room:\n\n{summary}"


def latest(log: Sequence[Logged]) -> int:
    """Where the entries begin that are never cut short; 0 if there is nothing before them."""
    left = KEPT_TURNS
    for place in range(len(log) - 1, -1, -1):
        left -= isinstance(log[place], Turn)
        if left == 0:
            return place
    return 0


def as_seen(log: Sequence[Logged], epoch: Epoch | None, end: int | None = None) -> list[Entry]:
    """The entries before number `end` as a model is told them in this epoch."""
    end = len(log) if end is None else end
    if epoch is None:
        return [entry for entry in log[:end] if not isinstance(entry, Audit)]
    start = summed_up(log, epoch)
    head = _instead(log, epoch) if start else []
    told = [(place, entry) for place, entry in enumerate(log[start:end], start) if not isinstance(entry, Audit)]
    return [*head, *(short(entry) if place < epoch.trim_until else entry for place, entry in told)]


def summed_up(log: Sequence[Logged], epoch: Epoch | None) -> int:
    """How many entries the epoch's summary stands for: whole rounds, so that no result is left without its call."""
    if epoch is None or _summary(log, epoch) is None:
        return 0
    start = min(epoch.summary_until, len(log))
    while start < len(log) and isinstance(log[start], Result | Audit):
        start += 1
    return start


def short(entry: Entry) -> Entry:
    """A long result by its beginning; everything else as it is."""
    if not isinstance(entry, Result) or len(entry.content) <= LONG_RESULT:
        return entry
    stub = STUB.format(kept=entry.content[:KEPT_CHARS], chars=len(entry.content))
    return entry.model_copy(update={"content": stub})


def kept_words(log: Sequence[Logged], end: int) -> list[Message]:
    """A person's first message and the last one before entry `end`: no summary takes their place."""
    said = [entry for entry in log[:end] if isinstance(entry, Message)]
    return [_cut(message) for message in [*said[:1], *said[1:][-1:]]]


def size_of(entries: Sequence[Entry]) -> int:
    """About how many bytes a provider is sent for these entries."""
    return sum(_size(entry) for entry in entries)


def _instead(log: Sequence[Logged], epoch: Epoch) -> list[Entry]:
    """What the job began with, the summary, and what a person said last before the entries that are still seen."""
    words = kept_words(log, summed_up(log, epoch))
    return [*words[:1], Note(text=SUMMARY.format(summary=_summary(log, epoch))), *words[1:]]


def _summary(log: Sequence[Logged], epoch: Epoch) -> str | None:
    if epoch.summary_at is None or not 0 <= epoch.summary_at < len(log):
        return None
    entry = log[epoch.summary_at]
    return entry.summary if isinstance(entry, Audit) else None


def _cut(message: Message) -> Message:
    if len(message.text) <= LONG_MESSAGE:
        return message
    text = CUT_MESSAGE.format(kept=message.text[:LONG_MESSAGE], chars=len(message.text))
    return message.model_copy(update={"text": text})


def _size(entry: Entry) -> int:
    if isinstance(entry, Turn):
        told = {"native"} if entry.native is not None else {"parts"}
        return len(entry.model_dump_json(include=told).encode())
    return len((entry.content if isinstance(entry, Result) else entry.text).encode())
