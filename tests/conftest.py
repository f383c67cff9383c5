"""What all tests share. `plain` and `samples`, beside this file, become importable through it."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")
