"""The judge of Google requests agrees with every recorded verdict of the API, and has teeth."""

from typing import Any

import pytest

from tests.activities.providers.google_traffic import camel, grouped
from tests.activities.providers.google_wire import is_google
from tests.judge_google import WouldBeRejected, judge_contents
from tests.traffic import exchanges, names, or_skipped

REFUSED = {"gemini/error_invalid_role_400": "Please use a valid role"}
"""Of the requests that were refused, those whose contents were at fault."""

JUDGED = [name for name in names(["gemini", "cross-provider"]) if name in REFUSED or "/error_" not in name]


@pytest.mark.parametrize("name", or_skipped(JUDGED))
def test_the_judge_agrees_with_the_api(name: str) -> None:
    for exchange in filter(is_google, exchanges(name)):
        body = camel(exchange.request_body)
        for content in body["contents"]:
            content["parts"] = [part for part in content["parts"] if "inlineData" not in part]
        # Other clients write a content for each call, and schemas of another kind.
        body |= {"contents": grouped(body["contents"]), "tools": []}
        body.pop("toolConfig", None)
        if name in REFUSED:
            with pytest.raises(WouldBeRejected, match=REFUSED[name]):
                judge_contents(body)
        else:
            judge_contents(body, signed="gemini-3" in exchange.url)


def text(words: str) -> Any:
    return {"text": words}


def call(name: str = "find", **fields: Any) -> Any:
    return {"functionCall": {"name": name, "args": {}, **fields}, "thoughtSignature": "c2ln"}


def result(name: str = "find", **fields: Any) -> Any:
    return {"functionResponse": {"name": name, "response": {"output": "found"}, **fields}}


def user(*parts: Any) -> Any:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> Any:
    return {"role": "model", "parts": list(parts)}


ASKED = user(text("Find it."))
FIND: Any = {"name": "find", "description": "", "parametersJsonSchema": {"type": "object"}}


def body(*contents: Any, **changes: Any) -> Any:
    return {"contents": [ASKED, *contents], "tools": [{"functionDeclarations": [FIND]}], **changes}


def declared(**changes: Any) -> Any:
    return body(tools=[{"functionDeclarations": [{**FIND, **changes}]}])


def test_a_lawful_request_passes() -> None:
    rounds = [model(text("So."), call(), call(id="2")), user(result(), result(id="2")), user(text("Go on."))]

    judge_contents(body(*rounds, toolConfig={"functionCallingConfig": {"mode": "NONE"}}))


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (body(contents=[]), "contents are required"),
        (body(contents=[user(text("\ud800"))]), "not valid JSON"),
        (body(contents=[user(text("x" * 20_000_001))]), "exceeds the limit"),
        (body(model(call()), model(result())), "a functionResponse of the model's"),
        (body(contents=[model(text("a")), ASKED]), "first turn must be a user's"),
        (body(model(text("a"))), "Requests ending with a model turn"),
        (body({"role": "tool", "parts": [text("a")]}, ASKED), "valid role"),
        (body(model(), ASKED), "at least one parts field"),
        (body(model({}), ASKED), "required oneof field"),
        (body(model({"thought": True}), ASKED), "required oneof field"),
        (body(model(text("")), ASKED), "empty text parameter"),
        (body(ASKED), "two turns of the user"),
        (body(model(text("a")), model(text("b")), ASKED), "two turns of the model"),
        (body(model(call()), ASKED), "number of function response parts"),
        (body(model(call(), call()), user(result())), "number of function response parts"),
        (body(model(call()), user(result(), result())), "number of function response parts"),
        (body(model(text("a")), user(result())), "number of function response parts"),
        (body(model(call()), user(result(), text("and"))), "other parts beside function responses"),
        (body(model(call()), user(result("other"))), "in the place of"),
        (body(model(call(id="1"), call(id="2")), user(result(id="2"), result(id="1"))), "in the place of"),
        (body(model(call()), user(result(id="1"))), "in the place of"),
        (body(model(call(id="1"), call(id="1")), user(result(id="1"), result(id="1"))), "there twice"),
        (body(model(call("3d")), user(result("3d"))), "Invalid function name '3d'"),
        (body(model(call("")), user(result(""))), "Invalid function name ''"),
        (body(model(call(args=[])), user(result())), "cannot start list"),
        (body(model(call()), user(result(response="found"))), "cannot start list"),
        (body(user(call()), user(result())), "a functionCall of the user's"),
        (body(model({**call(), "thoughtSignature": "c2l"}), user(result())), "Base64 decoding failed"),
        (body(model({"functionCall": {"name": "find"}}), user(result())), "missing a thought_signature"),
        (body(systemInstruction={"parts": [text("")]}), "systemInstruction: empty text"),
        (body(tools=[{"functionDeclarations": [FIND, FIND]}]), "Duplicate function declaration"),
        (body(tools=[], toolConfig={"functionCallingConfig": {"mode": "NONE"}}), "toolConfig without functions"),
        (declared(name="3d"), "Invalid function name '3d'"),
        (declared(parameters={"type": "OBJECT"}), "two schemas of one function"),
        (declared(parametersJsonSchema={"type": "object", "patternProperties": {}}), "not supported"),
        (declared(parametersJsonSchema={"properties": {"a": {"const": 1}}}), r"find\.a: .* \['const'\]"),
        (declared(parametersJsonSchema={"$defs": {"a": {"anyOf": [{"not": {}}]}}}), "not supported"),
        (declared(parametersJsonSchema={"properties": {"a": {"$ref": "#/$defs/b", "title": "A"}}}), "beside a .ref"),
    ],
)
def test_a_broken_rule_is_named(broken: Any, fault: str) -> None:
    with pytest.raises(WouldBeRejected, match=fault):
        judge_contents(broken)


def test_models_before_gemini_3_need_no_signatures() -> None:
    judge_contents(body(model({"functionCall": {"name": "find"}}), user(result())), signed=False)
