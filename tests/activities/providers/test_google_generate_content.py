"""What the Google adapter sends: any transcript as the API accepts it, and settings as they are."""

import builtins
import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.providers.action_schema import action_schema
from activities.providers.errors import ModelError, NotFound, Rejected, Unauthenticated
from activities.providers.google_generate_content import GoogleGenerateContent
from activities.providers.google_history import PLACEHOLDER, write_contents
from activities.providers.google_request import build_body
from activities.providers.google_schema import google_schema
from activities.providers.protocol import ToolDeclaration
from activities.providers.rendering import BLANK, GO_ON
from activities.providers.schema_mode import SchemaMode
from tests.activities.providers.google_wire import ADD, SIGNATURE, call, candidate, google, request, sent
from tests.judge_google import judge_contents
from tests.traffic import Answer, Replay
from workflows.contracts import (
    CallPart,
    Entry,
    JsonObject,
    Message,
    Native,
    Note,
    Part,
    ReasoningPart,
    RefusalPart,
    Result,
    ResultStatus,
    StopReason,
    TextPart,
    Turn,
)

HELLO = Message(text="Hello")
MODEL = "gemini-3-pro-preview"


def native(*parts: Any, calls: tuple[CallPart, ...] = (), number: int = 1, model: str = MODEL) -> Turn:
    """A turn of this API with these parts."""
    content: JsonObject = {"role": "model", "parts": [*parts]}
    own = Native(api="google_generate_content", items=[content], model=model)
    return Turn(number=number, parts=[*calls], native=own)


def foreign(*parts: Part, number: int = 1) -> Turn:
    items: list[Any] = [{"type": "reasoning", "encrypted_content": "secret"}]
    return Turn(number=number, parts=[*parts], native=Native(api="openai_responses", items=items))


def add(own: str, provider_id: str | None = None, tool: str = "add", **arguments: Any) -> CallPart:
    return CallPart(id=own, provider_id=provider_id, tool=tool, arguments=arguments)


def result(own: str, content: str = "5", status: ResultStatus = "ok", tool: str = "add") -> Result:
    return Result(call=own, tool=tool, content=content, status=status)


async def contents(*entries: Entry, **fields: Any) -> Any:
    body = await sent([*entries], **fields)
    judge_contents(body, signed="gemini-2" not in fields.get("model", ""))
    return body["contents"]


def user(*texts: str) -> Any:
    return {"role": "user", "parts": [{"text": text} for text in texts]}


def model(*parts: Any) -> Any:
    return {"role": "model", "parts": [*parts]}


def responses(*given: Any) -> Any:
    return {"role": "user", "parts": [{"functionResponse": each} for each in given]}


async def test_the_whole_request() -> None:
    replay = Replay(Answer(candidate({"text": "ok"})))
    settings = {
        "generationConfig": {"temperature": 0.2, "thinkingConfig": {"thinkingBudget": 64}},
        "labels": {"a": "b"},
    }
    await google(replay).complete(request([HELLO], instructions="Be brief.", settings=settings, max_output_tokens=99))

    (http,) = replay.requests
    assert str(http.url).endswith("/models/gemini-3-pro-preview:generateContent")
    assert http.headers["x-goog-api-key"] == "test-key"
    assert replay.sent == [
        {
            "contents": [user("Hello")],
            "generationConfig": {
                "temperature": 0.2,
                "thinkingConfig": {"thinkingBudget": 64},
                "maxOutputTokens": 99,
            },
            "labels": {"a": "b"},
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "tools": [
                {"functionDeclarations": [{"name": "add", "description": "Adds.", "parametersJsonSchema": ADD.schema}]}
            ],
        }
    ]


async def test_a_closing_call_declares_the_tools_and_forbids_them() -> None:
    config = {"functionCallingConfig": {"mode": "ANY"}, "retrievalConfig": {"languageCode": "de"}}
    closing = await sent([HELLO], tool_choice="none", settings={"toolConfig": config})
    without_tools = await sent([HELLO], tool_choice="none", tools=())

    assert closing["toolConfig"] == {
        "functionCallingConfig": {"mode": "NONE"},
        "retrievalConfig": {"languageCode": "de"},
    }
    assert len(closing["tools"]) == 1
    assert "toolConfig" not in without_tools


async def test_tools_of_googles_own_stand_beside_ours() -> None:
    body = await sent([HELLO], settings={"tools": [{"googleSearch": {}}]})

    assert [list(tool) for tool in body["tools"]] == [["googleSearch"], ["functionDeclarations"]]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"contents": []}, "hold contents, which Surefoot sets itself"),
        ({"systemInstruction": {}, "model": "m"}, "hold model, systemInstruction"),
        ({"generation_config": {}}, "hold generation_config, .* write .* generationConfig"),
        ({"generationConfig": 7}, "generationConfig is 7; it must be an object"),
    ],
)
async def test_settings_that_cannot_be_honoured_are_refused_before_anything_is_sent(settings: Any, told: str) -> None:
    replay = Replay()
    with pytest.raises(Rejected, match=told):
        await google(replay).complete(request(settings=settings, max_output_tokens=9))

    assert replay.sent == []


async def test_a_content_goes_back_as_it_came_with_its_signatures() -> None:
    parts = [
        {"text": "Hm.", "thought": True},
        {"text": "", "thoughtSignature": "ZW1wdHk="},
        {"functionCall": {"args": {"b": 3, "a": 2}, "name": "add"}, "thoughtSignature": SIGNATURE, "later": {"x": 1}},
        {"functionCall": {"name": "add", "args": {"a": 1.50}}},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
    ]
    turn = native(*parts, calls=(add("c1-1"), add("c1-2")))
    written = await contents(HELLO, turn, result("c1-1"), result("c1-2", "no", "error"))

    assert json.dumps(written[1]) == json.dumps(model(*parts))
    assert written[2:] == [
        responses({"name": "add", "response": {"output": "5"}}, {"name": "add", "response": {"error": "no"}})
    ]


async def test_ids_that_the_model_gave_come_back_and_repeated_ones_are_made_unique() -> None:
    turn = native(
        call("add", id="x", signature=SIGNATURE), call("add", id="x"), calls=(add("c1-1", "x"), add("c1-2", "x"))
    )
    written = await contents(HELLO, turn, result("c1-1"), result("c1-2"))

    assert [part["functionCall"]["id"] for part in written[1]["parts"]] == ["x", "c1-2"]
    assert [part["functionResponse"]["id"] for part in written[2]["parts"]] == ["x", "c1-2"]


async def test_only_what_would_be_rejected_is_mended() -> None:
    broken = [{}, {"text": ""}, {"text": "", "thought": True}, 7]
    odd = {"functionCall": {"name": "", "args": [1], "x": 1}, "thoughtSignature": SIGNATURE}
    named = call("search<|channel|>x")
    turn = native(*broken, odd, named, calls=(add("c1-1", tool="unknown"), add("c1-2", tool="search<|channel|>x")))
    written = await contents(HELLO, turn, result("c1-1"), result("c1-2"))

    assert written[1]["parts"] == [
        {"functionCall": {"name": "unknown", "args": {}, "x": 1}, "thoughtSignature": SIGNATURE},
        call("search__channel__x"),
    ]


async def test_a_turn_of_another_api_is_rebuilt_from_texts_and_calls() -> None:
    turn = foreign(
        ReasoningPart(text="Hm."),
        TextPart(text="So."),
        add("c1-1", "call_1", a=2),
        CallPart(id="c1-2", tool="add", raw="{"),
    )
    written = await contents(HELLO, turn, result("c1-1"), result("c1-2", " ", "denied"))

    assert written[1:] == [
        model(
            {"text": "So."},
            call("add", {"a": 2}, id="call_1", signature=PLACEHOLDER),
            call("add", {"malformed_arguments": "{"}, id="c1-2", signature=PLACEHOLDER),
        ),
        responses(
            {"id": "call_1", "name": "add", "response": {"output": "5"}},
            {"id": "c1-2", "name": "add", "response": {"error": "(no output)"}},
        ),
    ]


@pytest.mark.parametrize(
    ("name", "signed"),
    [
        ("gemini-3-pro-preview", True),
        ("gemini-4-argon", True),
        ("gemini-flash-latest", True),
        ("models/gemini-3.8-flash", True),
        ("gemini-2.5-flash", False),
        ("models/gemini-2.0-flash", False),
        ("gemini-1.5-pro", False),
        ("gemini-12-x", True),
        ("gemma-4-27b-it", False),
    ],
)
def test_calls_that_gemini_3_did_not_make_are_signed_for_models_that_insist(name: str, signed: bool) -> None:
    elsewhere = foreign(add("c1-1", "call_1"))
    before = native(call(), call(), calls=(add("c2-1"), add("c2-2")), number=2, model=name)
    written: Any = write_contents([HELLO, elsewhere, result("c1-1"), before, result("c2-1"), result("c2-2")], name)

    found = [part.get("thoughtSignature") for content in written for part in content["parts"] if "functionCall" in part]
    assert found == ([PLACEHOLDER, PLACEHOLDER, None] if signed else [None, None, None])


async def test_a_turn_of_another_model_of_google_is_rebuilt_without_its_signatures() -> None:
    parts = [{"text": "Hm.", "thought": True}, call("add", {"a": 2}, id="x", signature=SIGNATURE)]
    turn = native(*parts, calls=(add("c1-1", "x", a=2),), model="gemini-4-argon")
    written = await contents(HELLO, turn, result("c1-1"))

    assert written[1] == model(call("add", {"a": 2}, id="x", signature=PLACEHOLDER))


async def test_words_after_results_have_a_content_of_their_own() -> None:
    turn = native(call(signature=SIGNATURE), calls=(add("c1-1"),))
    written = await contents(HELLO, turn, result("c1-1"), Note(text="Mind."), Message(text="And?"))

    assert written[2:] == [
        responses({"name": "add", "response": {"output": "5"}}),
        user("<harness_note>\nMind.\n</harness_note>", "And?"),
    ]


async def test_persons_and_model_take_turns_and_a_person_has_the_last_word() -> None:
    written = await contents(
        Message(text="A"),
        Message(text=" "),
        native({"text": "B"}),
        foreign(RefusalPart(text="No."), number=2),
        native({"text": ""}, number=3),
    )

    assert written == [user("A", BLANK), model({"text": "B"}), user(GO_ON), model({"text": "No."}), user(GO_ON)]


async def test_a_transcript_that_begins_with_the_model_begins_with_a_person_on_the_wire() -> None:
    assert await contents(native({"text": "B"}), HELLO) == [user(GO_ON), model({"text": "B"}), user("Hello")]


async def test_a_call_without_a_result_is_answered_and_a_result_of_no_call_is_left_out() -> None:
    written = await contents(HELLO, result("c9-9"), native(call(signature=SIGNATURE), calls=(add("c1-1"),)))

    assert written[2] == responses({"name": "add", "response": {"error": "This call has no recorded result."}})
    assert len(written) == 3


async def test_native_items_that_do_not_fit_the_calls_are_dropped_whole() -> None:
    turn = native(call(), {"text": "x", "thoughtSignature": SIGNATURE}, calls=(add("c1-1"), add("c1-2")))
    written = await contents(HELLO, turn, result("c1-1"), result("c1-2"))

    assert written[1] == model(
        call(id="c1-1", signature=PLACEHOLDER),
        call(id="c1-2", signature=PLACEHOLDER),
    )


async def test_a_tool_whose_name_google_refuses_goes_by_another_everywhere() -> None:
    tools = (ToolDeclaration("3d-view", "", {"type": "object"}),)
    turn = foreign(add("c1-1", tool="3d-view"))
    body = await sent([HELLO, turn, result("c1-1", tool="3d-view")], tools=tools)

    judge_contents(body)
    assert body["tools"][0]["functionDeclarations"][0]["name"] == "_3d-view"
    assert body["contents"][1]["parts"][0]["functionCall"]["name"] == "_3d-view"
    assert body["contents"][2]["parts"][0]["functionResponse"]["name"] == "_3d-view"


def test_a_schema_keeps_what_the_api_supports() -> None:
    schema: JsonObject = {
        "$schema": "x",
        "type": "object",
        "title": "Add",
        "additionalProperties": False,
        "required": ["const"],
        "properties": {
            "const": {"type": "string", "minLength": 1, "pattern": "a", "default": "a", "description": "A."},
            "kind": {"const": "sum"},
            "flag": {"const": True},
            "number": {"type": "number", "exclusiveMinimum": 0, "minimum": 1, "enum": [1, 2.5]},
            "items": {"type": "array", "items": {"$ref": "#/$defs/item", "title": "Item"}, "uniqueItems": True},
            "either": {"anyOf": [{"type": "null"}, {"type": "string", "examples": ["a"]}]},
        },
        "$defs": {"item": {"type": "object", "patternProperties": {}}},
    }

    assert google_schema(schema) == {
        "type": "object",
        "title": "Add",
        "additionalProperties": False,
        "required": ["const"],
        "properties": {
            "const": {"type": "string", "description": "A."},
            "kind": {"enum": ["sum"]},
            "flag": {},
            "number": {"type": "number", "minimum": 1, "enum": [1, 2.5]},
            "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
            "either": {"anyOf": [{"type": "null"}, {"type": "string"}]},
        },
        "$defs": {"item": {"type": "object"}},
    }


NAMES = st.sampled_from(["add", "_x", "3d", "", "a b", "search<|channel|>", "default_api:add"])
IDS = st.sampled_from([None, "", "x", "call_1", "c1-1", "é"])
TEXTS = st.sampled_from(["", " ", "so", "\ud800"])
STOPS: tuple[StopReason, ...] = ("end", "max_tokens", "pause", "content_filter", "unknown")


@st.composite
def rounds(draw: st.DrawFn, number: int) -> list[Entry]:
    """A turn of this API or another with results, perhaps too few, and words that follow."""
    named = draw(st.lists(st.tuples(NAMES, IDS), max_size=3))
    calls = [
        CallPart(id=f"c{number}-{place}", provider_id=given, tool=name or "unknown", arguments={})
        for place, (name, given) in enumerate(named, start=1)
    ]
    parts: list[Any] = [{"functionCall": {"name": name, "id": given}} for name, given in named]
    parts = [*draw(st.lists(st.builds(lambda text: {"text": text}, TEXTS), max_size=2)), *parts]
    said: list[Part] = [TextPart(text=draw(TEXTS)), *calls]
    own = native(*parts, calls=tuple(calls), number=number)
    turn = draw(st.sampled_from([own, foreign(*said, number=number)]))
    kept = draw(st.integers(0, len(calls)))
    results = [result(each.id, draw(TEXTS), draw(st.sampled_from(["ok", "error"]))) for each in calls[:kept]]
    words = draw(st.lists(st.one_of(st.builds(Note, text=TEXTS), st.builds(Message, text=TEXTS)), max_size=2))
    return [turn.model_copy(update={"stop": draw(st.sampled_from(STOPS))}), *results, *words]


@given(data=st.data(), length=st.integers(0, 5), closing=st.booleans())
def test_whatever_was_said_the_request_is_lawful(data: st.DataObject, length: int, closing: bool) -> None:
    entries: list[Entry] = [Message(text=data.draw(TEXTS))]
    earlier = []
    for number in range(1, length + 1):
        earlier.append(write_contents(entries, MODEL)[:-1])  # the last one may grow
        entries += data.draw(rounds(number))
    body = build_body(request(entries, tool_choice="none" if closing else "auto", instructions=data.draw(TEXTS)))

    judge_contents(body)
    assert json.dumps(body).encode()
    written = write_contents(entries, MODEL)
    assert [written[: len(begun)] for begun in earlier] == earlier


async def test_without_the_package_a_call_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    found = builtins.__import__

    def without_google(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("google.genai"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return found(name, *rest, **more)

    monkeypatch.delitem(sys.modules, "google.genai", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_google)
    provider = GoogleGenerateContent.from_environment()
    monkeypatch.undo()

    with pytest.raises(
        NotFound, match=r"google-genai, which is not installed: pip install 'surefoot\[google\]'"
    ) as raised:
        await provider.complete(request())
    await provider.close()
    assert not raised.value.retryable


@pytest.mark.parametrize("vertex", ["false", "true"])
async def test_without_a_key_every_call_says_what_to_set(vertex: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", vertex)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere.json") if vertex == "true" else None
    provider = GoogleGenerateContent.from_environment()

    for _ in range(2):
        with pytest.raises(Unauthenticated, match="set GEMINI_API_KEY"):
            await provider.complete(request())
    await provider.close()


async def test_schema_mode_holds_the_answer_to_its_schema_unless_the_settings_say_a_form() -> None:
    said = Answer(
        candidate({"text": json.dumps({"action": {"kind": "tool_call", "tool": "add", "arguments": {"a": 2}}})})
    )
    replay = Replay(said, said)
    provider = SchemaMode(google(replay))
    turn = await provider.complete(request(settings={"generationConfig": {"temperature": 0}}, max_output_tokens=9))
    await provider.complete(request(settings={"generationConfig": {"responseMimeType": "text/plain"}}))

    judge_contents(replay.sent[0])
    schema: Any = action_schema([ADD], None)
    assert [(part.tool, part.arguments) for part in turn.calls] == [("add", {"a": 2})]
    assert replay.sent[0]["generationConfig"] == {
        "temperature": 0,
        "responseMimeType": "application/json",
        "responseJsonSchema": schema,
        "maxOutputTokens": 9,
    }
    assert "tools" not in replay.sent[0]
    assert replay.sent[1]["generationConfig"] == {"responseMimeType": "text/plain"}


async def test_vertex_goes_by_the_same_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    replay = Replay(Answer(candidate({"text": "ok"})))
    await google(replay).complete(request([HELLO]))

    assert str(replay.requests[0].url) == (
        "https://aiplatform.googleapis.com/v1beta1/publishers/google/models/gemini-3-pro-preview:generateContent"
    )
    assert replay.sent[0]["contents"] == [user("Hello")]


async def test_a_model_name_that_no_url_can_carry_is_an_error_of_ours() -> None:
    with pytest.raises(ModelError, match="invalid model parameter") as raised:
        await google(Replay()).complete(request(model="../x"))

    assert not raised.value.retryable
