"""The one kind of error a user sees as a sentence instead of a traceback."""


class UserError(Exception):
    """What is wrong and what to do about it, in one sentence; the command exits with status 2."""
