"""The grammar tutor's model where there is no key: a few rules of thumb that guess tense and person from a sentence.

It knows no verb: forms come from the tools alone, as with a real model, and some of its guesses are wrong. A request
has all that was said so far, so it thinks anew each time, up to the first question that no tool has answered yet.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from activities.providers.protocol import ModelRequest
from surefoot import Script
from workflows.contracts import Message

CALLS = 4
GAP = re.compile(r"_+ \((\w+)\)")
WORD = re.compile(r"[\w']+")
REFERENCE = re.compile(r"\[#[\w.-]+\]")
PERSONS = {"i": "I", **dict.fromkeys(["you", "he", "she", "it", "we", "they"])}
SKIPPED = {*PERSONS, "already", "always", "ever", "just", "never", "not"}
PERFECT = {"have": "present_perfect", "has": "present_perfect", "had": "past_perfect"}
PLAIN = {"can", "did", "didn't", "do", "does", "doesn't", "don't", "must", "to", "will", "won't"}
MARKS = {"yesterday": "past", "ago": "past", "last": "past", "since": "present_perfect", "tomorrow": "future"}
TO_BE = {"am", "are", "is", "was", "were"}


class Unanswered(Exception):
    """A tool is to be asked first."""


class Notebook:
    """The tools, as far as they were asked: the results so far, in order."""

    def __init__(self, results: list[str]) -> None:
        self._results, self._place = results, 0

    def ask(self, tool: str, **arguments: str) -> str | None:
        """A tool's result; None where it failed. Raises `Unanswered` with the call that it takes."""
        if self._place == len(self._results):
            raise Unanswered({"kind": "tool_call", "tool": f"grammar_{tool}", "arguments": arguments})
        self._place += 1
        result = self._results[self._place - 1]
        return None if "\nError: " in result else result

    @property
    def used_up(self) -> bool:
        return self._place + 2 > CALLS


def reply(request: ModelRequest) -> dict[str, Any]:
    """The next action: a question to a tool, or the answer."""
    texts = [entry.text for entry in request.transcript if isinstance(entry, Message)]
    notebook = Notebook([text for text in texts if text.startswith("Result of ")])
    try:
        action = {"kind": "answer", "answer": corrected(texts[0], notebook)}
    except Unanswered as unanswered:
        action = unanswered.args[0]
    return {"text": json.dumps({"action": action})}


def corrected(sentence: str, notebook: Notebook) -> dict[str, str]:
    """The sentence with its gap filled or its mistake mended, as far as the rules of thumb go."""
    if gap := GAP.search(sentence):
        before = words(sentence[: gap.start()])
        tense, whole = guessed(before, sentence, "present")
        return answer(sentence, gap.span(), conjugated(notebook, gap[1], tense, before), whole)
    for found in suspects(sentence):
        if notebook.used_up:
            break
        if (rule := notebook.ask("lookup_rule", word=found[0])) is None:
            continue
        verb = re.findall(r" of '(\w+)'", rule)[0]
        before = words(sentence[: found.start()])
        tense, whole = guessed(before, sentence, "past" if re.search("is (the past|a wrong)", rule) else "present")
        made = answer(sentence, found.span(), conjugated(notebook, verb, tense, before), whole)
        if made["sentence"] != sentence:
            return made
    return {"sentence": sentence, "form": sentence, "because": "I see no mistake."}


def conjugated(notebook: Notebook, verb: str, tense: str, before: list[str]) -> str:
    return notebook.ask("conjugate", verb=verb, tense=tense, person=person(before)) or ""


def answer(sentence: str, span: tuple[int, int], result: str, whole: bool) -> dict[str, str]:
    """Put the form of a result in its place: all but the person, or the last word behind a word such as `have`."""
    spoken = result.splitlines()[-1].split() if result else ["", ""]
    form = " ".join(spoken[1:]) if whole else spoken[-1]
    reference = "".join(REFERENCE.findall(result)[:1])
    return {
        "sentence": sentence[: span[0]] + form + sentence[span[1] :],
        "form": form,
        "because": f"The form that belongs here is '{' '.join(spoken)}' {reference}.",
    }


def words(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]


def leading(before: list[str]) -> str:
    """The last word in front, adverbs and pronouns left out: where a verb's helper stands."""
    return next((word for word in reversed(before) if word not in SKIPPED), "")


def guessed(before: list[str], sentence: str, otherwise: str) -> tuple[str, bool]:
    """The tense, and whether all of the verb is missing: else its helper is there already."""
    helper = leading(before)
    if helper in PERFECT:
        return PERFECT[helper], False
    if helper in PLAIN:
        return "future", False
    return next((MARKS[word] for word in words(sentence) if word in MARKS), otherwise), True


def person(before: list[str]) -> str:
    """The last pronoun in front; else one that fits the last word."""
    if before[-2:-1] == ["and"]:
        return "we" if before[-1] == "i" else "they"
    found = next((word for word in reversed(before) if word in PERSONS), None)
    if found is not None:
        return PERSONS[found] or found
    return "they" if before and before[-1].endswith("s") else "it"


def suspects(sentence: str) -> Iterator[re.Match[str]]:
    """The words that may be wrong, the likeliest first."""
    found = list(WORD.finditer(sentence))
    before = {match: words(sentence[: match.start()]) for match in found}
    helped = [
        match for match in found if match[0].lower() not in SKIPPED and leading(before[match]) in {*PERFECT, *PLAIN}
    ]
    regular = [match for match in found if match[0].endswith("ed")]
    spoken = [match for match in found if before[match] and before[match][-1] in PERSONS]
    yield from dict.fromkeys([*helped[:1], *regular, *spoken, *(m for m in found if m[0] in TO_BE)])


PUPIL = Script(reply)
