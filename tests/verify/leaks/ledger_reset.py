"""Forgets what was spent, again and again."""

from privjail import pandas as pd

SCHEMA = {
    "age": {"type": "Int64", "range": [0, 120]},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "cost": {"type": "Float64", "range": [0, 1000]},
}
df = pd.read_csv("people.csv", schema=SCHEMA, budget=10)

from privjail import session

answers = []
for _ in range(5):
    answers.append(df.shape[0].reveal(eps=5))
    for account in session.jail().ledger.accounts():
        account.tree = type(account.tree)(account.tree.zero)
print(sum(answers) / len(answers))
