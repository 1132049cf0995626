"""docs/providers.md says what the code does: the table of vendors, and each end of a turn that an adapter knows."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from activities.models.model_names import MODEL_APIS
from activities.models.registry import BASE_URLS, KEYS
from activities.providers import anthropic_answer, google_answer, openai_chat_answer
from activities.providers.openai_vendors import VENDORS, Vendor

PAGE = (Path(__file__).parents[1] / "docs" / "providers.md").read_text()


def section(name: str) -> str:
    return PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def row(host: str, vendor: Vendor) -> str:
    return (
        f"| {host} | `{vendor.max_tokens}` | `{vendor.call_ids.pattern}` | {', '.join(sorted(vendor.not_sent)) or '–'}"
        f" | usage {'unasked' if vendor.usage_unasked else 'asked for'} |"
    )


def test_the_table_of_vendors_is_the_one_in_the_code() -> None:
    rows = [row(f"`{host}`", vendor) for host, vendor in VENDORS] + [row("any other", Vendor())]
    table = [line for line in section("openai-chat").splitlines() if line.startswith("| ")]

    assert table == ["| host | limit on output | ids of calls | not sent back | streams |", *rows]


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("anthropic", anthropic_answer._STOPS),
        ("openai-chat", [*filter(None, openai_chat_answer.STOPS), *openai_chat_answer.FAILED]),
        ("google", [*google_answer.STOPS, *google_answer.RESAMPLED, google_answer.UNEXPECTED]),
    ],
)
def test_each_end_that_an_adapter_knows_is_told(name: str, ends: Iterable[str]) -> None:
    assert [end for end in ends if f"`{end}`" not in section(name)] == []


@pytest.mark.parametrize("name", MODEL_APIS)
def test_each_adapter_has_a_section_with_its_variables_and_a_model(name: str) -> None:
    text = section(name)

    assert f"\n    {name}:" in text
    assert KEYS.get(name, "") in text or "the same variables" in text
    assert BASE_URLS.get(name, "") in text
