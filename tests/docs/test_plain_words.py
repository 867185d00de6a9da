"""Check pages for words that a reader of NumPy would have to learn."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATTERNS = (
    r"at hand|dear|faint|letters|beside|whole numbers?|nought|wrongly accus\w+|is none of",
    r"(?<!there )(?:is|are) no(?! (?:longer|more|less|larger|greater|smaller|better|worse))",
    r"hands? out|handed out|giv(?:es?|en) away|stands? (?:in|at|next|there|alone)",
    r"(?:says?|tells?|knows?|hears?|speaks?) (?:so|what|which|how|of|nothing|that|whether|it)",
    r"asks? (?:of|what|more|it)",
    r"(?:what|who) (?:is|are|was|were|has|have|does|it|they|the|one|no|every)",
    r"(?:what|who) (?:comes?|goes|lies|may|can|cannot)",
)
WORDS = re.compile(rf"\b(?:{'|'.join(PATTERNS)})\b", re.IGNORECASE)


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_page_uses_plain_words(path: Path) -> None:
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    statements = [(n, line) for n, line in lines if not line.endswith("?")]  # questions may begin with what
    wrong = [f"{n}: {m.group()!r}" for n, line in statements for m in WORDS.finditer(line)]
    assert not wrong, "\n".join(wrong)
