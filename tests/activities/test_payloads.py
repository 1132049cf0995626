"""What is written to history: compressed, encrypted with a key, and read back as it was, or refused with a reason."""

import base64
import json

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from temporalio.api.common.v1 import Payload

from activities.payloads import AES, KEYS, LARGEST, ZSTD, BadKeys, Codec, UnreadablePayload, data_converter, keys_from
from workflows.contracts import CallPart, JobState, Limits, Result, TextPart, Turn

OLD, NEW = bytes(range(32)), bytes(range(16))
TEXT = b'{"content":"' + b"a line of some real text, again and again; " * 20 + b'"}'


def plain(data: bytes) -> Payload:
    return Payload(metadata={"encoding": b"json/plain"}, data=data)


async def sealed(codec: Codec, data: bytes = TEXT) -> Payload:
    return (await codec.encode([plain(data)]))[0]


async def opened(codec: Codec, payload: Payload) -> Payload:
    return (await codec.decode([payload]))[0]


async def test_text_is_compressed_and_short_values_stay_readable() -> None:
    codec = Codec()
    long, short = await codec.encode([plain(TEXT), plain(b'"short"')])

    assert long.metadata["encoding"] == ZSTD
    assert len(long.data) < len(TEXT) / 5
    assert short == plain(b'"short"')
    assert await codec.decode([long, short]) == [plain(TEXT), plain(b'"short"')]


async def test_what_does_not_get_smaller_is_left_as_it_is() -> None:
    noise = plain(bytes((n * n * 31 + n * 17) % 256 for n in range(199)) + bytes(range(256)))

    assert await Codec().encode([noise]) == [noise]


@given(st.lists(st.tuples(st.binary(max_size=2000), st.dictionaries(st.text(max_size=9), st.binary(max_size=9)))))
async def test_any_payload_comes_back_as_it_was(values: list[tuple[bytes, dict[str, bytes]]]) -> None:
    payloads = [Payload(metadata={"encoding": b"json/plain", **metadata}, data=data) for data, metadata in values]
    for codec in (Codec(), Codec({"k": OLD})):
        assert await codec.decode(await codec.encode(payloads)) == payloads


async def test_with_a_key_everything_is_encrypted_and_nothing_shows() -> None:
    codec = Codec({"k1": OLD})
    for data in (TEXT, b'"short secret"'):
        payload = await sealed(codec, data)

        assert dict(payload.metadata) == {"encoding": AES, "key": b"k1"}
        assert b"secret" not in payload.SerializeToString()
        assert await opened(codec, payload) == plain(data)


async def test_the_same_value_is_never_encrypted_alike() -> None:
    codec = Codec({"k1": OLD})

    assert (await sealed(codec)).data != (await sealed(codec)).data


async def test_after_a_rotation_the_new_key_encrypts_and_the_old_one_still_opens() -> None:
    before, after = Codec({"old": OLD}), Codec({"new": NEW, "old": OLD})
    written_before, written_after = await sealed(before), await sealed(after)

    assert written_after.metadata["key"] == b"new"
    assert await after.decode([written_before, written_after]) == [plain(TEXT), plain(TEXT)]
    assert await opened(after, plain(TEXT)) == plain(TEXT)  # from before there was any key


async def test_a_missing_key_is_named_and_those_that_are_there() -> None:
    payload = await sealed(Codec({"old": OLD}))

    with pytest.raises(UnreadablePayload) as missing:
        await opened(Codec({"new": NEW, "newer": OLD}), payload)
    with pytest.raises(UnreadablePayload) as none:
        await opened(Codec(), payload)
    assert str(missing.value) == (
        f"history is encrypted with key 'old', this process has: new, newer; add that key to {KEYS}"
    )
    assert "this process has: none" in str(none.value)


@pytest.mark.parametrize("data", [b"", b"short", bytes(12), bytes(100)])
async def test_a_changed_key_and_altered_data_are_told_as_such(data: bytes) -> None:
    changed, altered = await sealed(Codec({"k": OLD})), Payload(metadata={"encoding": AES, "key": b"k"}, data=data)

    for payload in (changed, altered):
        with pytest.raises(UnreadablePayload, match="the key was changed under its old name, or the data was altered"):
            await opened(Codec({"k": NEW}), payload)


async def test_data_moved_under_another_key_id_does_not_open() -> None:
    payload = await sealed(Codec({"a": OLD}))
    payload.metadata["key"] = b"b"

    with pytest.raises(UnreadablePayload):
        await opened(Codec({"a": OLD, "b": OLD}), payload)


@pytest.mark.parametrize("declared", [True, False])
async def test_a_bomb_is_not_unpacked(declared: bool) -> None:
    size = LARGEST + 1
    packer = zstandard.ZstdCompressor(write_content_size=declared).compressobj(size=size if declared else -1)
    block = bytes(1024 * 1024)
    packed = b"".join(packer.compress(block) for _ in range(LARGEST // len(block))) + packer.compress(b"\0")
    bomb = Payload(metadata={"encoding": ZSTD}, data=packed + packer.flush())

    assert len(bomb.data) < 100_000
    assert await opened(Codec(), bomb) == bomb


@pytest.mark.parametrize("garbage", [b"", b"no zstd at all", zstandard.ZstdCompressor().compress(b"no payload")])
async def test_garbage_that_says_it_is_compressed_stays_as_it_came(garbage: bytes) -> None:
    payload = Payload(metadata={"encoding": ZSTD}, data=garbage)

    assert await opened(Codec(), payload) == payload


def test_keys_are_read_in_their_order() -> None:
    text = f"new:{base64.b64encode(NEW).decode()}, old:{base64.b64encode(OLD).decode()},"

    assert list(keys_from(text).items()) == [("new", NEW), ("old", OLD)]
    assert keys_from("") == {}


@pytest.mark.parametrize(
    "entry",
    [
        "nocolon",
        ":" + base64.b64encode(OLD).decode(),
        "k:",
        "k:not base64!",
        "k:" + base64.b64encode(b"too short").decode(),
        "k:" + base64.b64encode(bytes(24)).decode(),
    ],
)
def test_a_key_that_can_not_be_used_is_told_by_its_place_and_never_shown(entry: str) -> None:
    with pytest.raises(BadKeys) as error:
        keys_from(f"good:{base64.b64encode(OLD).decode()},{entry}")

    assert f"{KEYS}: entry 2 is not ID:KEY" in str(error.value)
    assert "python -c" in str(error.value)
    assert entry.partition(":")[2] not in str(error.value) or not entry.partition(":")[2]


def test_two_keys_of_one_id_are_refused() -> None:
    key = base64.b64encode(OLD).decode()

    with pytest.raises(BadKeys, match="entry 2 has the id 'a' of an earlier one"):
        keys_from(f"a:{key},a:{key}")


async def test_the_data_converter_takes_its_keys_from_the_environment() -> None:
    converter = data_converter({KEYS: f"k:{base64.b64encode(OLD).decode()}"})
    (payload,) = await converter.encode(["secret"])

    assert payload.metadata["encoding"] == AES
    assert await converter.decode([payload], [str]) == ["secret"]


async def test_what_was_not_set_is_not_written_and_the_kind_of_a_part_is() -> None:
    converter = data_converter({})
    turn = Turn(parts=[TextPart(text="t"), CallPart(id="c1-1", tool="look")])
    written = [json.loads(payload.data) for payload in await converter.encode([turn, Limits(rounds=3)])]

    assert written == [
        {"kind": "turn", "parts": [{"kind": "text", "text": "t"}, {"kind": "call", "id": "c1-1", "tool": "look"}]},
        {"rounds": 3},
    ]


async def test_a_state_is_written_whole_since_it_changes_in_place() -> None:
    state = JobState(agent="a")
    state.denied.append("d")
    converter = data_converter({})
    (back,) = await converter.decode(await converter.encode([state]), [JobState])

    assert back == state
    assert back.denied == ["d"]


@pytest.mark.parametrize("text", ["\0", "a\0b" * 1000, "😀" * 500, "\u2028\u2029\ufeff", "ü" * 100_000])
async def test_odd_text_comes_back_as_it_was(text: str) -> None:
    converter = data_converter({})
    result = Result(call="c1-1", tool="look", content=text)

    assert await converter.decode(await converter.encode([result]), [Result]) == [result]
