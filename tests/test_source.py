"""Source code is shown as the installed version has it."""

from __future__ import annotations

from helpers.source import source


def counted(words: list[str]) -> dict[str, int]:
    count: dict[str, int] = {}
    for word in words:
        if word:
            count[word] = count.get(word, 0) + 1
    return count


def test_lines_from_first_to_last_without_their_indent():
    shown = source(counted, "for word", "if")
    assert str(shown) == "# tests/test_source.py, counted\nfor word in words:\n    if word:"


def test_the_whole_where_nothing_is_named():
    assert source(counted).text.startswith("def counted(") and source(counted).text.endswith("return count")


def test_other_lines_in_this_version_are_said():
    shown = source(counted, "for letter", "if")
    assert "reads differently" in str(shown) and "def counted(" in shown.text


def test_html_shows_the_code_as_it_stands():
    shown = source(counted, "count: dict", "count: dict")._repr_mimebundle_()["text/html"]
    assert "tests/test_source.py, counted" in shown and "count: dict[str, int] = {}</pre>" in shown


def test_signs_of_html_are_escaped():
    def compared(a: int, b: int) -> bool:
        return a < b

    assert "return a &lt; b" in source(compared)._repr_mimebundle_()["text/html"]
