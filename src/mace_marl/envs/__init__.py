"""The worlds."""
