"""Runs the other libraries' own estimators, in an environment that has them and not ours.

Started by local_vs_libraries.py. Reads an .npz file of settings; prints, as one line of JSON for each,
every estimator's squared error in every round. Also their whole way, client and server, for a few people.
"""

from __future__ import annotations

import json
import sys
import warnings
from importlib import import_module, metadata

import numpy as np
from numba import njit


@njit(cache=True)
def ibu_without_matrix(obs, p, q, steps, tol):
    """multi-freq-ldpy's IBU, step by step, without writing down its k × k matrix of only two numbers."""
    est = np.ones(len(obs)) / len(obs)
    for _ in range(steps):
        weights = obs / (q * est.sum() + (p - q) * est)
        new = est * (q * weights.sum() + (p - q) * weights)
        done = np.abs(new - est).max() < tol
        est = new
        if done:
            break
    return est


def multi_freq_ldpy(tally, n, p, q, check):
    estimators = import_module("multi_freq_ldpy.estimators.Histogram_estimator")
    k, obs = len(tally), tally / tally.sum()
    quick = ibu_without_matrix(obs, p, q, 10_000, 1e-12)
    if check and k <= 100:
        matrix = np.where(np.eye(k) == 1, p, q)
        whole = estimators.IBU(k, matrix, obs, 10_000, 1e-12, "max_abs")
        if np.abs(whole - quick).max() > 1e-8:
            raise SystemExit(f"IBU without its matrix differs by {np.abs(whole - quick).max():.3g}")
    return {"multi-freq-ldpy MI": estimators.MI(tally, n, p, q), "multi-freq-ldpy IBU": quick}


def pure_ldp(tally, n, protocol, epsilon):
    oracles = import_module("pure_ldp.frequency_oracles")
    k = len(tally)
    server = oracles.DEServer(epsilon, k) if protocol == "kary" else oracles.UEServer(epsilon, k, use_oue=True)
    server.aggregated_data, server.n = tally.copy(), n
    names = ("as is", "additive", "simplex", "threshold")
    return {
        f"pure-ldp {name}": server.estimate_all(range(1, k + 1), suppress_warnings=True, normalization=i) / n
        for i, name in enumerate(names)
    }


def whole_way(values, protocol, k, epsilon):
    """Their clients and servers on people's values, one by one."""
    from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, UE
    from pure_ldp.frequency_oracles import DEClient, DEServer, LHClient, LHServer, UEClient, UEServer

    sender, receiver = {
        "kary": lambda: (DEClient(epsilon, k), DEServer(epsilon, k)),
        "unary": lambda: (UEClient(epsilon, k, use_oue=True), UEServer(epsilon, k, use_oue=True)),
        "hashing": lambda: (LHClient(epsilon, k, use_olh=True), LHServer(epsilon, k, use_olh=True)),
    }[protocol]()
    for value in values:
        receiver.aggregate(sender.privatise(int(value) + 1))  # its items are named 1 … k
    every = range(1, k + 1)
    found = {"pure-ldp simplex": receiver.estimate_all(every, suppress_warnings=True, normalization=2) / len(values)}
    module, name = {"kary": (GRR, "GRR"), "unary": (UE, "UE"), "hashing": (LH, "LH")}[protocol]
    client = getattr(module, f"{name}_Client")
    reports = [client(int(value), k, epsilon) for value in values]
    for kind in ("MI", "IBU"):
        size = (epsilon,) if (name, kind) == ("UE", "MI") else (k, epsilon)
        found[f"multi-freq-ldpy {kind}"] = getattr(module, f"{name}_Aggregator_{kind}")(reports, *size)
    return found


def main():
    warnings.simplefilter("ignore")
    tasks = np.load(sys.argv[1], allow_pickle=False)
    print(json.dumps({name: metadata.version(name) for name in ("pure-ldp", "multi-freq-ldpy")}), flush=True)
    for i, task in enumerate(json.loads(str(tasks["tasks"]))):
        truth, errors = tasks[f"truth{i}"], {}
        for turn, given in enumerate(tasks[f"given{i}"]):
            if task["whole"]:
                found = whole_way(given, task["protocol"], task["k"], task["epsilon"])
            else:
                tally = given.astype(float)
                found = multi_freq_ldpy(tally, task["n"], task["p"], task["q"], check=turn == 0)
                found |= pure_ldp(tally, task["n"], task["protocol"], task["epsilon"])
            for name, guess in found.items():
                errors.setdefault(name, []).append(float(((np.asarray(guess) - truth) ** 2).mean()))
        print(json.dumps(errors), flush=True)


main()
