"""Looks through the memory of the process while it talks to a jail."""

import gc

import privjail as pj
from privjail import pandas as pd

pj.connect("analyst.privjail")
df = pd.read_csv("people")
print(df.shape[0].reveal(eps=0.5), len(gc.get_objects()) > 0)
