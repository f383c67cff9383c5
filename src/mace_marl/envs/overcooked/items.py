"""What a kitchen is made of: cells, drawn as characters, and items, each one number.

A soup is SOUP + its contents, and contents are 4 · onions + tomatoes.
"""

from typing import TypeVar

from jax import Array

T = TypeVar("T", int, Array)

FLOOR, COUNTER, POT, SERVING = " ", "X", "P", "S"
ONIONS, TOMATOES, DISHES = "O", "T", "D"  # dispensers

NOTHING, ONION, TOMATO, DISH, SOUP = range(5)

DISPENSED = {ONIONS: ONION, TOMATOES: TOMATO, DISHES: DISH}
POT_SIZE = 3  # ingredients


def contents_of(onions: int, tomatoes: int) -> int:
    return 4 * onions + tomatoes


def onions(contents: T) -> T:
    return contents // 4


def tomatoes(contents: T) -> T:
    return contents % 4
