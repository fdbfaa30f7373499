"""What every kind of run shares: preparation, session, cells, progress, outcome."""
