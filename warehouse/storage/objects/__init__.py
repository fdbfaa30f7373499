"""The lake on object storage: a bucket, its mirror on each machine, and the leases of writers."""
