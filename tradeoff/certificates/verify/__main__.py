"""``python -m tradeoff.certificates.verify FILE``: exit code 0 if the certificate holds, 1 if not."""

from __future__ import annotations

import sys
from pathlib import Path

from tradeoff.atomic_write import read_text
from tradeoff.certificates.certificate import Certificate
from tradeoff.certificates.verify import verify
from tradeoff.errors import TradeOffError

_LARGEST = 2**26  # characters that are read, some 1500 a certificate, so that an endless file ends


def main(names: list[str]) -> int:
    """Verify the certificates in files, and print what was seen."""
    if not names:
        print("usage: python -m tradeoff.certificates.verify FILE ...", file=sys.stderr)  # noqa: T201 - a command
        return 2
    try:
        for name in names:
            for each in Certificate.listed(read_text(Path(name), _LARGEST)):
                print(verify(each))  # noqa: T201 - the answer
    except (TradeOffError, OSError, UnicodeDecodeError) as error:
        print(f"{name}: refused: {getattr(error, 'strerror', None) or error}", file=sys.stderr)  # noqa: T201 - the answer
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
