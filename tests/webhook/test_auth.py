"""Hooks are open to holders of a token of the file, as it is now, and closed to everybody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from webhook.auth import TokenFile


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tokens"
    path.write_text("first-token\nsecond-token\n\n", "utf-8")
    return path


@pytest.mark.parametrize("token", ["first-token", "second-token"])
def test_each_line_is_a_valid_token(file: Path, token: str) -> None:
    assert TokenFile(file).accepts(f"Bearer {token}")


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer third-token",
        "Bearer first-toke",
        "Bearer first-token second-token",
        "Bearer first-token\nsecond-token",
        "Basic first-token",
        "first-token",
        "Bearer \udcff",
        "Bearer " + "x" * 100_000,
    ],
    ids=lambda header: repr(header)[:40],
)
def test_anything_else_is_refused(file: Path, header: str | None) -> None:
    assert not TokenFile(file).accepts(header)


def test_the_scheme_may_be_written_in_any_case(file: Path) -> None:
    assert TokenFile(file).accepts("bearer first-token")


def test_a_rotated_file_is_read_again(file: Path) -> None:
    tokens = TokenFile(file)
    assert tokens.accepts("Bearer first-token")
    renewed = file.with_name("renewed")
    renewed.write_text("second-token\nthird-token\n", "utf-8")
    renewed.replace(file)
    assert not tokens.accepts("Bearer first-token")
    assert tokens.accepts("Bearer third-token")


def test_without_a_readable_file_nobody_is_let_in(file: Path) -> None:
    tokens = TokenFile(file)
    assert tokens.accepts("Bearer first-token")
    file.unlink()
    assert not tokens.accepts("Bearer first-token")
    assert not TokenFile(None).accepts("Bearer ")
    file.write_bytes(b"\xff\xfe")
    assert not tokens.accepts("Bearer first-token")


def test_an_empty_file_lets_nobody_in(file: Path) -> None:
    file.write_text("\n \n", "utf-8")
    assert not TokenFile(file).accepts("Bearer ")
    assert not TokenFile(file).accepts("Bearer")
