"""Expectations of tests of the command."""


def refused(outcome):
    """Return the message of a refused command."""
    code, out, err = outcome
    assert (code, out) == (2, "")
    return err
