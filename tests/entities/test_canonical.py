from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.entities.canonical import MAX_NAME_CHARS, canonical_name

SAME = {
    "billing service": [
        "billing service",
        "Billing Service",
        "The Billing Service's",
        "the billing services",
        "a billing service",
        "my billing service",
        "those Billing Services",
        "  billing \t\n service ",
        "BILLING service",
        "ｂｉｌｌｉｎｇ service",
        "billing service\u2019s",
        "the billing services'",
        '"billing service"',
        "`billing service`",
        "\u201cBilling Service\u201d",
    ],
    "user": ["I", "me", "my", "myself", "we", "us", "Me", "My"],
    "sales team": ["sales team", "Sales Teams", "the sales team's"],
    "company": ["companies", "Company", "our companies"],
    "finance": ["ﬁnance", "Finance"],
    "strasse": ["Straße", "strasse"],
    "analysis": ["analysis", "an analysis"],
    "glass": ["glass", "a glass"],
    "aws": ["AWS", "the AWS"],
    "gpus": ["GPUS"],
    "k8s": ["K8s", "k8s"],
    "rtx 4090s": ["RTX 4090s"],
    "commit:9f3a2bs": ["commit:9f3a2bs", "Commit:9F3A2Bs", "`commit:9f3a2bs`"],
    "error:timeouts": ["error:Timeouts", "`error:Timeouts`", '"error:Timeouts"', "'Error:Timeouts'"],
    "zyra": ["Zyra", "Zyra\u200b", "\ufeffZyra", "Zy\u00adra", "\u202aZyra\u202c"],
    "wren \U0001f56f": ["Wren \U0001f56f", "Wren \U0001f56f\ufe0f", "wren \U0001f56f\ufe0e"],
    "北京": ["北京", " 北京 "],
    "汇率": ["汇率"],
    "서울": ["서울", "\u1109\u1165\u110b\u116e\u11af"],
    "café": ["café", "cafe\u0301", "Cafés"],
}

NOTHING = [
    *("", "   ", "\t\n", "the", "a", "an"),
    *("he", "She", "it", "they", "them", "who", "which", "someone", "themselves", "yours", "it's"),
    *("oh", "hello", "Okay", "Thanks", "yeah"),
    *("be", "is", "have", "makes", "doing", "get", "take", "went", "does", "goes"),
    *("x", "ab", "Al", "Go", "42", "the ab", "北", "é\u0301"),
    "x" * (MAX_NAME_CHARS + 1),
    "ﬁ" * (MAX_NAME_CHARS // 2 + 1),
]


@pytest.mark.parametrize(("raw", "name"), [(raw, name) for name, spellings in SAME.items() for raw in spellings])
def test_spellings_of_one_name_have_one_form(raw: str, name: str) -> None:
    assert canonical_name(raw) == name


@pytest.mark.parametrize("raw", NOTHING)
def test_what_names_nothing_is_dropped(raw: str) -> None:
    assert canonical_name(raw) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tarea 5", "Tarea 6"),
        ("Ann", "Anna"),
        ("Merrivale", "Merryvale"),
        ("NYC", "New York City"),
        ("error:timeouts", "error: timeouts"),
        ("error:timeouts", "error:`timeouts`"),
        ("error:timeouts", "error:timeout"),
        ("Sherlock", "Mr. Holmes"),
        ("Wren \U0001f56f\ufe0f", "Wren \U0001f5ef\ufe0f"),
        ("Team \U0001f3f4\U000e0067\U000e0062\U000e0065", "Team \U0001f3f4\U000e0067\U000e0062\U000e0073"),
        ("Aster", "aster 0"),
    ],
)
def test_nothing_is_merged_that_only_looks_alike(one: str, other: str) -> None:
    assert canonical_name(one) != canonical_name(other)


def test_an_error_in_a_sentence_is_prose() -> None:
    assert canonical_name("Error: the build failures") == "error: the build failure"


def test_a_name_of_the_greatest_length_stays() -> None:
    assert canonical_name("x" * MAX_NAME_CHARS) == "x" * MAX_NAME_CHARS


@given(st.text())
def test_every_text_has_a_form_or_none(raw: str) -> None:
    name = canonical_name(raw)
    if name is not None:
        assert 0 < len(name) <= 3 * MAX_NAME_CHARS
        assert name == " ".join(name.split())


@given(st.text(), st.sampled_from(["the ", "a ", "  ", "My "]))
def test_what_stands_before_a_name_makes_no_difference(raw: str, before: str) -> None:
    assert canonical_name(before + raw) in {canonical_name(raw), None} or canonical_name(raw) in {None, "user"}
