"""Manifests are read as kubectl reads them; what cannot be read is told in one line, with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.documents import load_documents
from cli.errors import CliError
from cli.manifests import read_manifests


def test_every_document_of_a_file_is_read_and_lists_are_taken_apart(tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    one, two, three = ({"apiVersion": "v1", "kind": kind} for kind in ("One", "Two", "Three"))
    listed = {"kind": "List", "items": [two, three]}
    file.write_text(f"{json.dumps(one)}\n---\n---\n{json.dumps(listed)}\n", "utf-8")
    manifests = read_manifests(str(file))
    assert [manifest.object for manifest in manifests] == [one, two, three]
    assert [manifest.place.removeprefix(str(file)) for manifest in manifests] == [
        ": document 1",
        ": document 3: items[0]",
        ": document 3: items[1]",
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"apiVersion": "v1", "kind": "\\ud83d\\ude00"}',
        '\ufeff{"apiVersion": "v1", "kind": "\U0001f600"}',
        'apiVersion: v1\nkind: "\U0001f600"',
    ],
)
def test_json_and_yaml_with_characters_beyond_16_bits(tmp_path: Path, text: str) -> None:
    file = tmp_path / "objects"
    file.write_text(text, "utf-8")
    assert read_manifests(str(file))[0].object["kind"] == "\U0001f600"


def test_keys_are_text_as_in_json() -> None:
    assert list(load_documents("{1: a, true: b, 0x10: c}")) == [{"1": "a", "true": "b", "0x10": "c"}]


def test_a_merged_key_may_be_overridden() -> None:
    assert list(load_documents("x: &x {a: 1, b: 2}\ny: {<<: *x, a: 3}")) == [
        {"x": {"a": 1, "b": 2}, "y": {"a": 3, "b": 2}}
    ]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("y", True),
        ("no", False),
        ("ON", True),
        ("~", None),
        ("0x10", 16),
        ("010", 8),
        ("0o10", 8),
        ("1_000", 1000),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("12:30:00", "12:30:00"),
        ("2026-01-02", "2026-01-02"),
        (".inf", ".inf"),
        ("24h", "24h"),
        ("'8'", "8"),
    ],
)
def test_words_are_understood_as_kubectl_understands_them(text: str, meant: Any) -> None:
    (document,) = load_documents(f"value: {text}")
    assert document == {"value": meant}
    assert isinstance(document["value"], type(meant))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param("", "is empty", id="empty"),
        pytest.param("# only a comment\n---\n", "is empty", id="only-comments"),
        pytest.param("a: [", "is not YAML", id="no-yaml"),
        pytest.param("a: b: c", "line 1", id="no-yaml-in-line-1"),
        pytest.param("a: 1\nb: 2\na: 3\n", "line 3: the key 'a' stands twice", id="a-key-twice"),
        pytest.param('{"a": 1, "a": 2}', "the key 'a' stands twice", id="a-key-twice-in-json"),
        pytest.param("just text", "holds no Kubernetes object", id="text"),
        pytest.param("a: 1\n", "has neither apiVersion nor kind", id="neither-apiVersion-nor-kind"),
        pytest.param("kind: A\n", "apiVersion: Required value", id="no-apiVersion"),
        pytest.param("- a\n- b\n", "holds no Kubernetes object", id="a-list"),
        pytest.param("kind: List\napiVersion: v1\n", "a List without a list", id="a-list-without-items"),
        pytest.param("a: &a [*a]\n", "", id="a-loop"),
        pytest.param("a: &a {b: *a}\n", "is not YAML", id="a-loop-of-maps"),
        pytest.param("[" * 5000 + "]" * 5000, "", id="nested-5000-deep"),
        pytest.param("a: " + "{b: " * 300 + "1" + "}" * 300, "nested", id="nested-300-deep"),
        pytest.param("a: !!binary aGk=\n", "JSON has no type binary", id="binary"),
        pytest.param("a: !custom x\n", "is not YAML", id="a-tag"),
        pytest.param("? [a]\n: b\n", "a key must be text", id="a-key-that-is-a-list"),
        pytest.param('{"a": "\\ud800"}', "half a character", id="half-a-character"),
        pytest.param("a: \x00\n", "is not YAML", id="nul"),
    ],
)
def test_what_cannot_be_read_is_an_error_in_one_line(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(content, "utf-8")
    with pytest.raises(CliError) as raised:
        read_manifests(str(file))
    assert str(raised.value).startswith(f"{file}: ")
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_ten_lines_that_stand_for_billions_of_values_are_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    file = tmp_path / "run.yaml"
    file.write_text("\n".join(lines), "utf-8")
    with pytest.raises(CliError, match="more than 1000000 values"):
        read_manifests(str(file))
