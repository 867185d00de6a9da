"""``python -m tradeoff.proofs.verify FILE``: exit code 0 if verified, 1 if not, 2 if unreadable."""

from __future__ import annotations

import sys

from tradeoff.errors import TradeOffError, VerificationError
from tradeoff.proofs.certificate import read_certificates
from tradeoff.proofs.verify import verify


def main(names: list[str]) -> int:
    """Verify the certificates in files and print the verdict first."""
    if not names:
        print("usage: python -m tradeoff.proofs.verify FILE ...", file=sys.stderr)  # noqa: T201 - a command
        return 2
    try:
        reports = [verify(each) for name in names for each in read_certificates(name)]
    except TradeOffError as error:
        print(f"NOT VERIFIED: {error}")  # noqa: T201 - the answer
        return 1 if isinstance(error, VerificationError) else 2
    print("VERIFIED", *reports, sep="\n")  # noqa: T201 - the answer
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
