"""The figures of `mace bench` as a table."""

from typing import Any


def bench_table(figures: dict[str, Any]) -> str:
    """One column per task, one row per figure; below, what worlds outside JAX cost."""
    parts = [_tasks_table(figures)] if figures["tasks"] else []
    return "\n\n".join(parts + ([_host_table(figures)] if "host" in figures else []))


def _host_table(figures: dict[str, Any]) -> str:
    host: dict[str, Any] = figures["host"]
    copies = host["copies"]
    rows = {
        f"collection, one step of {copies} worlds, µs": host["step_microseconds"],
        "  less what the worlds take themselves, µs": host["worlds_microseconds"],
        "overhead, the agents' acting included, µs": host["overhead_with_acting_microseconds"],
        "  less what acting takes by itself, µs": host["acting_microseconds"],
        "overhead beyond worlds and acting, µs": host["overhead_microseconds"],
    }
    head = (
        f"worlds outside JAX: {copies} copies of {host['world']} in {host['workers']} workers,"
        f" {figures['cores']} cores"
    )
    return "\n".join([head, *(f"{name:<48}{value:>8.0f}" for name, value in rows.items())])


def _tasks_table(figures: dict[str, Any]) -> str:
    tasks: dict[str, dict[str, Any]] = figures["tasks"]
    rows = {
        "method": lambda t: t["method"],
        "world, million steps/s": lambda t: f"{t['world_steps_per_second'] / 1e6:.1f}",
        "collection alone, steps/s": lambda t: f"{t['collect_steps_per_second']:,.0f}",
        "whole updates, steps/s": lambda t: f"{t['env_steps_per_second']:,.0f}",
        "learner, textbook GFLOP": lambda t: f"{t['textbook_gflop_per_update']:.0f}",
        "learner, GFLOP/s": lambda t: f"{t['learner_gflops']:.0f}",
        "learner, fraction of peak": lambda t: _fraction(t["learner_fraction_of_peak"]),
        "posterior, textbook GFLOP": lambda t: f"{t['posterior_gflop_per_update']:.0f}",
        "posterior, fraction of peak": lambda t: _fraction(t["posterior_fraction_of_peak"]),
        "novelty, textbook GFLOP": lambda t: f"{t['novelty_gflop_per_update']:.0f}",
        "novelty, fraction of peak": lambda t: _fraction(t["novelty_fraction_of_peak"]),
        "end to end, fraction of peak": lambda t: f"{t['end_to_end_fraction_of_peak']:.2f}",
        **{
            f"time in {stage}": lambda t, stage=stage: f"{t['share'][stage]:.1%}"
            for stage in next(iter(tasks.values()))["share"]
        },
        "peak memory, MiB": lambda t: f"{t['peak_memory_mib']:,.0f}",
        "compile, s": lambda t: f"{t['compile_seconds']:.1f}",
    }
    head = (
        f"{figures['cores']} cores, {len(figures['devices'])} devices, JAX {figures['jax']},"
        f" preset {figures['preset']};"
        f" matmul peak {figures['peak_gflops']:.0f} GFLOP/s"
    )
    width = max(map(len, rows))
    lines = [head, "", " " * width + "".join(f"  {name:>22}" for name in tasks)]
    for name, show in rows.items():
        lines.append(f"{name:<{width}}" + "".join(f"  {show(task):>22}" for task in tasks.values()))
    return "\n".join(lines)


def _fraction(number: float | None) -> str:
    """A dash where nothing is trained."""
    return "–" if number is None else f"{number:.2f}"
