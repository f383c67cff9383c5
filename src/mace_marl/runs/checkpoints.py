"""Checkpoints: the whole training state, written atomically, checked to the last byte.

`checkpoints/000042/` is the state after 42 updates: `state/` (Orbax), `config.json` and
`progress.json`, and a `seal`: the digest of every file, and of itself. A directory is moved into
place only when it is complete, so a crash leaves either all of a checkpoint or none of it.
"""

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mace_marl.errors import UserError
from mace_marl.runs.files import sync_directory

KEEP = 3
DIRECTORY = "checkpoints"
SEAL = "seal"


@dataclass(frozen=True)
class Checkpoint:
    update: int
    arrays: dict[str, np.ndarray]
    config: dict[str, Any]
    progress: dict[str, Any]


def save(run_dir: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint beside the others, then let go of all but the last few."""
    parent = run_dir / DIRECTORY
    parent.mkdir(exist_ok=True)
    for leftover in parent.glob(".*"):  # of a process that was killed while writing
        shutil.rmtree(leftover, ignore_errors=True)
    final = parent / f"{checkpoint.update:06d}"
    draft = parent / f".{final.name}.tmp"
    draft.mkdir()
    # Orbax does not store arrays without elements; they have nothing to lose.
    arrays = {name: array for name, array in checkpoint.arrays.items() if array.size}
    _orbax().save((draft / "state").resolve(), arrays)
    (draft / "config.json").write_text(json.dumps(checkpoint.config))
    (draft / "progress.json").write_text(json.dumps(checkpoint.progress))
    _seal(draft)
    if final.exists():  # a damaged one that is being made again
        _remove(final)
    draft.rename(final)
    sync_directory(parent)
    for old in _directories(run_dir)[:-KEEP]:
        _remove(old)


def newest(run_dir: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint that is whole, and a sentence about each newer one that is not."""
    complaints = []
    for directory in reversed(_directories(run_dir)):
        problem = damage(directory)
        if problem is None:
            return _read(directory), complaints
        complaints.append(f"checkpoint {directory} is damaged ({problem}); using the one before.")
    return None, complaints


def damage(directory: Path) -> str | None:
    """What is wrong with a checkpoint's files, or None if every byte is as it was written."""
    try:
        digest, _, body = (directory / SEAL).read_bytes().partition(b"\n")
        if hashlib.sha256(body).hexdigest().encode() != digest:
            return f"{SEAL} was changed"
        sealed: dict[str, str] = json.loads(body)
        present = _digests(directory)
    except OSError as error:
        return f"{Path(error.filename or '').name or 'a file'}: {error.strerror}"
    for name in sorted(sealed.keys() | present.keys()):
        if name not in present:
            return f"{name} is missing"
        if name not in sealed:
            return f"{name} does not belong to it"
        if sealed[name] != present[name]:
            return f"{name} was changed or cut off"
    return None


def flatten(tree: Any) -> dict[str, np.ndarray]:
    """A tree of arrays as named NumPy arrays; random keys as their plain data."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {_name(path): np.asarray(_plain(leaf)) for path, leaf in leaves}


def unflatten(template: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The tree whose shapes `template` describes, from named arrays."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(template)
    restored = []
    for path, leaf in leaves:
        wanted = jax.eval_shape(_plain, leaf)
        empty = None if wanted.size else np.zeros(wanted.shape, wanted.dtype)
        array = arrays.get(_name(path), empty)
        if array is None or array.shape != wanted.shape or array.dtype != wanted.dtype:
            raise UserError(
                f"the checkpoint does not fit this version of the program: {_name(path)} is"
                f" {'missing' if array is None else f'{array.dtype} {array.shape}'}, not"
                f" {wanted.dtype} {wanted.shape}; use the version named in the run's config.json."
            )
        restored.append(jax.random.wrap_key_data(jnp.asarray(array)) if _is_key(leaf) else array)
    return jax.tree.unflatten(structure, restored)


def _plain(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")


def _read(directory: Path) -> Checkpoint:
    return Checkpoint(
        update=int(directory.name),
        arrays=_orbax().restore((directory / "state").resolve()),
        config=json.loads((directory / "config.json").read_text()),
        progress=json.loads((directory / "progress.json").read_text()),
    )


def _directories(run_dir: Path) -> list[Path]:
    return sorted(path for path in (run_dir / DIRECTORY).glob("*") if path.name.isdigit())


def _digests(directory: Path) -> dict[str, str]:
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path != directory / SEAL
    }


def _seal(directory: Path) -> None:
    body = json.dumps(_digests(directory)).encode()
    (directory / SEAL).write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    for path in directory.rglob("*"):  # durable before the rename that makes it count
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)


def _remove(directory: Path) -> None:
    """First out of sight, then gone: a crash in between leaves no half checkpoint behind."""
    doomed = directory.with_name(f".{directory.name}.old")
    directory.rename(doomed)
    shutil.rmtree(doomed, ignore_errors=True)


def _orbax() -> Any:
    import orbax.checkpoint as ocp

    return ocp.PyTreeCheckpointer()
