"""One file per mechanism: guarantee, cost, sampler, exact law. Noise comes from exact samplers only."""
