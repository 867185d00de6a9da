"""Check pages for words that a reader of NumPy would stumble over."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORDS = re.compile(
    r"\b(?:at hand|dear|faint|letters|beside|whole numbers?|nought|(?<!there )is no(?! (?:longer|more|less|larger|greater|smaller"
    r"|better|worse|larger))|(?<!there )are no(?! (?:longer|more|less|larger))|is none of|wrongly accus\w+|hands? out|handed out"
    r"|giv(?:es?|en) away|(?:says?|tells?|knows?|hears?|speaks?) (?:so|what|which|how|of|nothing|that|whether|it)"
    r"|(?:what|who) (?:is|are|was|were|has|have|does|it|they|the|one|no|every|comes?|goes|lies|may|can|cannot)"
    r"|stands? (?:in|at|next|there|alone)|asks? (?:of|what|more|it))\b",
    re.IGNORECASE,
)


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_page_uses_plain_words(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    statements = [
        (n, line) for n, line in enumerate(lines, 1) if not line.endswith("?")
    ]  # a question may be one
    wrong = [f"{n}: {m.group()!r}" for n, line in statements for m in WORDS.finditer(line)]
    assert not wrong, "\n".join(wrong)
