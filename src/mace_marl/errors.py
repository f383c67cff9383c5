"""The errors a user sees as a sentence instead of a traceback."""


class Stopped(Exception):
    """The user asked to stop; everything up to the last update is saved. Exit status 130."""


class UserError(Exception):
    """What is wrong and what to do about it, in one sentence; the command exits with status 2."""
