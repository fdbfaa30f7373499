"""What every provider's client shares: transport, retry, rate limits, budgets, model pool."""
