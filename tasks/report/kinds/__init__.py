"""What reports read of each kind of run and how they call it, one module a kind."""
