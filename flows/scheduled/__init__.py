"""The nightly flow: shards over a work pool, aggregated once, compared with the night before."""
