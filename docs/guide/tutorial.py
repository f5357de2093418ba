# The source of tutorial.ipynb, which `python tools/tutorial.py` writes. "# %%" begins a cell, "# %% [markdown]" a text.

# %% [markdown]
# # PrivJail in ten minutes
#
# You will ask questions about hospital stays that you cannot see. The data here is generated; no real person is in it.
# Every answer is noisy, and says how noisy it is.

# %%
import sys
from pathlib import Path

sys.path.insert(0, str(Path("../../examples").resolve()))  # where the data is generated

import patients  # noqa: E402

import privjail as pj  # noqa: E402
from privjail import pandas as pd  # noqa: E402

patients.write_files()
pj.short_tracebacks()

# %% [markdown]
# ## Open a table
#
# You get a *prisoner*: public facts about its columns, no rows.

# %%
df = pd.read_csv("patients.csv", schema="patients.json", budget=5)
df

# %% [markdown]
# ## Ask the price first
#
# A rehearsal runs the same lines on made-up rows. Nothing is charged.

# %%
with pj.rehearsal() as bill:
    df.shape[0].reveal(eps=0.1)
    df.groupby("ward")["days"].mean(eps=0.5)
    df["cost"].median(eps=0.5)
bill

# %%
pj.budget_left()

# %% [markdown]
# ## Ask
#
# `eps` is what a release costs: the smaller, the noisier.

# %%
n = df.shape[0].reveal(eps=0.1)
n, n.interval(0.95)

# %%
days = df.groupby("ward")["days"].mean(eps=0.5)
days

# %%
days.interval(0.95)

# %%
days.plot()

# %%
cost = df["cost"].median(eps=0.5)
cost, cost.interval()

# %% [markdown]
# ## Groups exclude each other
#
# Each stay is in one ward, so medians of all wards cost as much as one.

# %%
before = pj.budget_left()["patients.csv"]
medians = {ward: stays["cost"].median(eps=0.25) for ward, stays in df.groupby("ward")}
round(before - pj.budget_left()["patients.csv"], 6)

# %% [markdown]
# ## Some answers are worth nothing, and say so

# %%
df[(df["age"] == 120) & (df["ward"] == "maternity")]["days"].mean(eps=0.1)

# %% [markdown]
# ## What was asked

# %%
pj.history()
