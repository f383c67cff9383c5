"""What a step is worth, as in SMAC: damage done, enemies killed, the battle won."""

import jax.numpy as jnp
from jax import Array

from mace_marl.envs.skirmish.scenariofile import Scenario


def of_step(scenario: Scenario, damage: Array, kills: Array, won: Array) -> Array:
    """`damage`  # (): points of health and shield; `kills`  # () int32; `won`  # () bool"""
    prize = scenario.prize
    points = prize.damage * damage + prize.kill * kills + jnp.where(won, prize.win, 0.0)
    if prize.scaled_to is None:
        return points
    return points * (prize.scaled_to / most_points(scenario))


def most_points(scenario: Scenario) -> float:
    """What a battle is worth in which no shield grows again."""
    prize = scenario.prize
    enemies = sum(group.count for group in scenario.enemies)
    endurance = sum(
        group.count * (group.unit.health + group.unit.shield) for group in scenario.enemies
    )
    return prize.damage * endurance + prize.kill * enemies + prize.win
