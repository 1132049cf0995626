"""What Google's generateContent API accepts: `judge_contents` fails as its 400 would, with the path of the fault.

The rules come from the API's own error texts and its reference. Stricter than some of its models: those before
Gemini 3 ask for no signatures, and mended histories were seen to pass where newer models refuse them.
"""

import base64
import json
import re
from typing import Any

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
DATA = {
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
}
SCHEMA = {
    "$anchor", "$defs", "$id", "$ref", "additionalProperties", "anyOf", "description", "enum", "format", "items",
    "maxItems", "maximum", "minItems", "minimum", "oneOf", "prefixItems", "properties", "propertyOrdering", "required",
    "title", "type",
}  # fmt: skip


MAX_BYTES = 20_000_000


class WouldBeRejected(AssertionError):
    """The API would answer 400."""


def judge_contents(body: Any, signed: bool = True) -> None:
    """Raise `WouldBeRejected` if the request body breaks a rule; `signed` for the models since Gemini 3."""
    _judge_size(body)
    contents = body.get("contents")
    _require(isinstance(contents, list) and contents, "contents are required")
    for index, content in enumerate(contents):
        _judge_content(content, f"contents.{index}", signed)
    _require(contents[0]["role"] == "user", "contents.0: the first turn must be a user's")
    _require(contents[-1]["role"] == "user", "Requests ending with a model turn are not supported")
    _judge_turns(contents)
    _judge_tools(body)
    system = body.get("systemInstruction")
    _require(system is None or all(part.get("text") for part in system["parts"]), "systemInstruction: empty text")


def _judge_size(body: Any) -> None:
    try:
        size = len(json.dumps(body, ensure_ascii=False).encode())
    except UnicodeEncodeError as error:
        raise WouldBeRejected(f"The request body is not valid JSON: {error}") from None
    _require(size <= MAX_BYTES, f"Request payload size exceeds the limit ({size} bytes)")


def _require(holds: object, fault: str) -> None:
    if not holds:
        raise WouldBeRejected(fault)


def _judge_content(content: Any, path: str, signed: bool) -> None:
    _require(content.get("role") in ("user", "model"), f"{path}: Please use a valid role: user, model.")
    parts = content.get("parts")
    _require(isinstance(parts, list) and parts, f"{path}: must include at least one parts field")
    for index, part in enumerate(parts):
        at = f"{path}.parts.{index}"
        _require(
            len(part.keys() & DATA) == 1, f"{at}.data: required oneof field 'data' must have one initialized field"
        )
        blank = part.get("text") == "" and "thoughtSignature" not in part
        _require(not blank, f"{at}: Unable to submit request because it has an empty text parameter")
        _judge_signature(part, at)
    calls = [part for part in parts if "functionCall" in part]
    responses = [part for part in parts if "functionResponse" in part]
    for part in [*calls, *responses]:
        _judge_function(part.get("functionCall") or part["functionResponse"], path)
    _require(not calls or content["role"] == "model", f"{path}: a functionCall of the user's")
    _require(not responses or content["role"] == "user", f"{path}: a functionResponse of the model's")
    _require(not responses or len(responses) == len(parts), f"{path}: other parts beside function responses")
    unsigned = signed and calls and "thoughtSignature" not in calls[0]
    _require(not unsigned, f"{path}: Function call is missing a thought_signature in functionCall parts")


def _judge_signature(part: Any, at: str) -> None:
    signature = part.get("thoughtSignature")
    if signature is not None:
        try:
            base64.b64decode(signature, altchars="-_" if "-" in signature or "_" in signature else None, validate=True)
        except ValueError:
            raise WouldBeRejected(f"{at}.thoughtSignature: Base64 decoding failed") from None


def _judge_function(function: Any, path: str) -> None:
    _require(NAME.fullmatch(function.get("name") or ""), f"{path}: Invalid function name {function.get('name')!r}")
    fields = function.get("args", function.get("response", {}))
    _require(isinstance(fields, dict), f"{path}: Proto field is not repeating, cannot start list")


def _judge_turns(contents: Any) -> None:
    for index, content in enumerate(contents):
        path = f"contents.{index}"
        before = contents[index - 1] if index else {"role": "", "parts": []}
        calls = _all(before, "functionCall")
        responses = _all(content, "functionResponse")
        _require(
            len(calls) == len(responses),
            f"{path}: Please ensure that the number of function response parts is equal to the number of function "
            f"call parts of the function call turn. ({len(responses)} for {len(calls)})",
        )
        for call, response in zip(calls, responses, strict=True):
            asked = (call["name"], call.get("id") or None)
            given = (response["name"], response.get("id") or None)
            _require(asked == given, f"{path}: a response of {given} in the place of {asked}")
        ids = [call["id"] for call in _all(content, "functionCall") if call.get("id")]
        _require(len(ids) == len(set(ids)), f"{path}: an id is there twice in {ids}")
        alternates = content["role"] != before["role"] or (responses == [] and _all(before, "functionResponse"))
        _require(alternates, f"{path}: two turns of the {content['role']} in a row")


def _all(content: Any, kind: str) -> list[Any]:
    return [part[kind] for part in content["parts"] if kind in part]


def _judge_tools(body: Any) -> None:
    declared = [each for tool in body.get("tools", []) for each in tool.get("functionDeclarations", [])]
    names = [each["name"] for each in declared]
    _require(len(names) == len(set(names)), f"tools: Duplicate function declaration found in {names}")
    for each in declared:
        _require(NAME.fullmatch(each["name"]), f"tools: Invalid function name {each['name']!r}")
        _require("parameters" not in each or "parametersJsonSchema" not in each, "tools: two schemas of one function")
        if "parametersJsonSchema" in each:
            _judge_schema(each["parametersJsonSchema"], each["name"])
    _require(declared or "functionCallingConfig" not in body.get("toolConfig", {}), "toolConfig without functions")


def _judge_schema(schema: Any, path: str) -> None:
    if not isinstance(schema, dict):
        return
    unknown = sorted(schema.keys() - SCHEMA)
    _require(not unknown, f"{path}: keywords that are not supported: {unknown}")
    beside = sorted(key for key in schema if not key.startswith("$")) if "$ref" in schema else []
    _require(not beside, f"{path}: {beside} beside a $ref")
    inner = [*schema.get("properties", {}).items(), *schema.get("$defs", {}).items()]
    inner += [(key, schema[key]) for key in ("items", "additionalProperties") if key in schema]
    inner += [(key, each) for key in ("anyOf", "oneOf", "prefixItems") for each in schema.get(key, [])]
    for name, each in inner:
        _judge_schema(each, f"{path}.{name}")
