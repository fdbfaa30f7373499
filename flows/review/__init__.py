"""Human review: samples, agreement, adjudication."""
