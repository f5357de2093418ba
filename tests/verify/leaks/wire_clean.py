"""Nothing leaks: two releases over the wire."""

import privjail as pj
from privjail import pandas as pd

pj.connect("analyst.privjail")
df = pd.read_csv("people")
print(df, df.shape[0].reveal(eps=0.5), df[df["c"] == "a"]["n"].sum().reveal(eps=0.5))
print(pj.consumed_privacy_budget())
