"""Writes docs/guide/tutorial.ipynb from docs/guide/tutorial.py, without outputs: python tools/tutorial.py"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "guide"


def cells(source: str) -> list[dict[str, Any]]:
    """The cells of a notebook: code, and text whose lines are comments."""
    found: list[dict[str, Any]] = []
    for i, part in enumerate(source.split("\n# %%")[1:]):
        text = part.startswith(" [markdown]")
        lines = part.partition("\n")[2].strip("\n").splitlines()
        if text:
            lines = [line.removeprefix("#").removeprefix(" ") for line in lines]
        body = [line + "\n" for line in lines[:-1]] + lines[-1:]
        cell: dict[str, Any] = {"cell_type": "markdown" if text else "code", "id": f"cell-{i}", "metadata": {}}
        found.append(
            {**cell, "source": body} if text else {**cell, "execution_count": None, "outputs": [], "source": body}
        )
    return found


def notebook() -> str:
    """The notebook as a file holds it."""
    made = {
        "cells": cells((GUIDE / "tutorial.py").read_text(encoding="utf-8")),
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    (GUIDE / "tutorial.ipynb").write_text(notebook(), encoding="utf-8")
