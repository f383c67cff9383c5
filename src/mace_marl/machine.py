"""What this machine is, and how a run is laid out on it. A user sets nothing."""

import contextlib
import os
import platform
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from mace_marl.errors import UserError
from mace_marl.settings import Settings

MICRO_BATCH = 60  # chunks whose activations fit a CPU core's cache (docs/performance.md)
SAMPLES = 400  # the same for networks without memory
ENOUGH_SAMPLES = 4096  # per device and optimiser step, to repay looking for distinct observations


@dataclass(frozen=True)
class Layout:
    """How the work lies on the machine. It changes results by float rounding only."""

    devices: int = 1
    """Devices that share the environments."""
    micro_batch: int = MICRO_BATCH
    """Chunks whose gradient is computed at a time."""
    in_turn: bool = True
    """Improve one agent after the other on a device, instead of all at once."""
    distinct: bool = False
    """Compute layers before the GRU once per distinct observation, where those are discrete."""
    samples: int = SAMPLES
    """Samples whose gradient is computed at a time, where a network has no memory."""


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def start_jax(cpu_devices: int, prompt: bool = False) -> int:
    """Give JAX this many CPU devices and a cache for compiled programs; returns its device count.

    `prompt`: a program that is called runs at once, and not in a thread of its own. That saves
    tens of microseconds where small programs are called in turn with worlds outside JAX.

    Devices must be set before JAX starts. In a process where it runs already they stay as they
    are, and everything works, if slower.
    """
    import jax

    with contextlib.suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", cpu_devices)
        if prompt:
            jax.config.update("jax_cpu_enable_async_dispatch", False)
    if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        jax.config.update("jax_compilation_cache_dir", str(cache / "mace-marl" / "jax"))
    return jax.device_count()


def choose_layout(
    settings: Settings,
    devices: int | None = None,
    micro_batch: int | None = None,
    distinct: bool | None = None,
    host: bool = False,
) -> Layout:
    """The fastest layout for these settings on this machine; what is asked for overrides it.

    `host`: worlds run outside JAX. They have the cores while they are played, and one device.
    """
    import jax

    if host and devices not in (None, 1):
        raise UserError(f"worlds outside JAX are trained on one device, not on {devices}.")
    chunks = settings.steps_per_update // settings.chunk_length // settings.minibatches
    if devices is not None and devices < 1:
        raise UserError(f"devices must be at least 1, not {devices}.")
    available = start_jax(1 if host else devices or cores(), prompt=host)
    devices = 1 if host else devices
    possible = [
        n for n in range(1, available + 1) if settings.num_envs % n == 0 and chunks % n == 0
    ]
    if devices is not None and devices not in possible:
        raise UserError(
            f"{devices} devices cannot share {settings.num_envs} environments and mini-batches of"
            f" {chunks} chunks; possible here: {', '.join(map(str, possible))}."
        )
    # With less than that on each, what they tell each other takes longer than they save.
    worthwhile = [n for n in possible if chunks // n >= MICRO_BATCH]
    devices = devices or max(worthwhile, default=1)
    share = chunks // devices
    if micro_batch is not None and (micro_batch < 1 or share % micro_batch):
        raise UserError(
            f"micro-batch must divide the {share} chunks that each device has of a mini-batch, and"
            f" {micro_batch} does not; {_largest_divisor(share, micro_batch)} would."
        )
    if jax.default_backend() != "cpu":  # an accelerator wants everything at once
        everything = max(settings.steps_per_update, settings.replay)
        return Layout(devices, micro_batch or share, False, bool(distinct), everything)
    enough = share * settings.chunk_length >= ENOUGH_SAMPLES
    return Layout(
        devices,
        micro_batch or _largest_divisor(share, MICRO_BATCH),
        distinct=enough if distinct is None else distinct,
    )


def _largest_divisor(number: int, most: int) -> int:
    return max(n for n in range(1, max(min(most, number), 1) + 1) if number % n == 0)


def fit_layout(layout: Layout, host: bool = False) -> Layout:
    """A recorded layout, or as much of it as there are devices in this process."""
    if start_jax(layout.devices, prompt=host) >= layout.devices:
        return layout
    return replace(layout, devices=1)


def made_with() -> dict[str, str]:
    """What a run was made with, for the record."""
    packages = ("mace-marl", "jax", "jaxlib", "equinox", "optax", "numpy")
    versions = {name: metadata.version(name) for name in packages}
    return {
        "python": platform.python_version(),
        **versions,
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": str(cores()),
    }
