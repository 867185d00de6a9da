"""Flags that take several values, given apart or together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tradeoff.errors import DomainError, shown

SEVERAL = ("--delta", "--epsilon", "--alpha")  # flags that take several numbers
_MAX_WORDS = 1_000  # parsing takes time quadratic in them, 0.5 seconds for 1000


def spread(tokens: Sequence[str]) -> list[str]:
    """Repeat the flag before each number after it, so that ``--delta 1e-5 1e-6 PLAN`` means what it says.

    Examples
    --------
    >>> spread(["--epsilon", "-1", "2", "plan.toml"])
    ['--epsilon=-1', '--epsilon=2', 'plan.toml']
    """
    if len(tokens) > _MAX_WORDS:
        raise DomainError(f"a command must have at most {_MAX_WORDS:,} words, got {len(tokens):,}")
    return list(_spread(tokens))


def _spread(tokens: Sequence[str]) -> Iterator[str]:
    flag, waiting = "", False
    for token in tokens:
        if token in SEVERAL:
            if waiting:
                yield flag
            flag, waiting = token, True
        elif flag and "," in token and all(map(_is_number, token.split(","))):
            apart = " ".join(token.split(","))
            raise DomainError(f"{flag} {shown(token)}: numbers stand apart, and have points: {flag} {apart}")
        elif flag and (_is_number(token) or (waiting and not token.startswith("--"))):
            yield f"{flag}={token}"
            waiting = False
        else:
            if waiting:
                yield flag
            flag, waiting = "", False
            yield {"-": "./-"}.get(token, token)  # stdin has a name that looks like a flag
    if waiting:
        yield flag


def _is_number(token: str) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True
