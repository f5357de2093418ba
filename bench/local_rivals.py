"""Runs one other library on rounds of values from standard input. Started by local_vs_libraries.py in an
environment that has that library and not ours; prints its estimates as one line of JSON a round."""

from __future__ import annotations

import json
import sys

import numpy as np


def pure_ldp(values, protocol, k, epsilon):
    from pure_ldp.frequency_oracles import DEClient, DEServer, LHClient, LHServer, UEClient, UEServer

    client, server = {
        "kary": (lambda: DEClient(epsilon, k), lambda: DEServer(epsilon, k)),
        "unary": (lambda: UEClient(epsilon, k, use_oue=True), lambda: UEServer(epsilon, k, use_oue=True)),
        "hashing": (lambda: LHClient(epsilon, k, use_olh=True), lambda: LHServer(epsilon, k, use_olh=True)),
    }[protocol]
    sender, receiver = client(), server()
    for value in values:
        receiver.aggregate(sender.privatise(value + 1))  # its items are named 1 … k
    counts = receiver.estimate_all(range(1, k + 1), suppress_warnings=True)
    return {"unbiased": np.asarray(counts, dtype=float) / len(values)}


def multi_freq_ldpy(values, protocol, k, epsilon):
    from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, UE

    if protocol == "kary":
        reports = [GRR.GRR_Client(v, k, epsilon) for v in values]
        found = {"MI": lambda: GRR.GRR_Aggregator_MI(reports, k, epsilon),
                 "IBU": lambda: GRR.GRR_Aggregator_IBU(reports, k, epsilon)}
    elif protocol == "unary":
        reports = [UE.UE_Client(v, k, epsilon) for v in values]
        found = {"MI": lambda: UE.UE_Aggregator_MI(reports, epsilon),
                 "IBU": lambda: UE.UE_Aggregator_IBU(reports, k, epsilon)}
    else:
        reports = [LH.LH_Client(v, k, epsilon) for v in values]
        found = {"MI": lambda: LH.LH_Aggregator_MI(reports, k, epsilon),
                 "IBU": lambda: LH.LH_Aggregator_IBU(reports, k, epsilon)}
    if k > 100:
        del found["IBU"]  # 10,000 products with a 1,000 × 1,000 matrix for each round
    return {name: run() for name, run in found.items()}


def main():
    task = json.loads(sys.argv[2])
    run = {"pure-ldp": pure_ldp, "multi-freq-ldpy": multi_freq_ldpy}[sys.argv[1]]
    for values in json.load(sys.stdin):
        found = run(values, task["protocol"], task["k"], task["epsilon"])
        print(json.dumps({name: np.asarray(guess, dtype=float).tolist() for name, guess in found.items()}))


main()
