"""Human review of replies: blind samples, agreement, and decisions on disputes."""
