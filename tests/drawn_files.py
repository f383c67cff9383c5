"""What the tests of drawn worlds share: maps, kitchens."""

import re


def replaced_once(valid: str, old: str, new: str) -> str:
    """A valid drawing with one thing changed."""
    assert valid.count(old) == 1, f"{old!r} must occur once in the valid drawing"
    return valid.replace(old, new)


def assert_one_sentence(message: str, file: str) -> None:
    """One line that begins with the file's name, and one full stop, at its end."""
    assert message.startswith(f"{file}: ")
    assert message.isprintable(), "line breaks or control characters in a message"
    assert message.endswith(".") and not message.endswith("..")
    assert not re.search(r"\. [A-Z]", message), "more than one sentence"
