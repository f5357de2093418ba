"""All operations, imported: so that the registry is complete."""

from __future__ import annotations

import importlib
import pkgutil

import privjail.ops


def load_all() -> None:
    """Import every module of this folder and of the folders in it."""
    for module in pkgutil.walk_packages(privjail.ops.__path__, "privjail.ops."):
        importlib.import_module(module.name)
