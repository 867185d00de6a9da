"""What tests of the command expect of it."""


def refused(outcome):
    """Return the line that says why."""
    code, out, err = outcome
    assert (code, out) == (2, "")
    return err
