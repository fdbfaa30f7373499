from support.outages import provider, run_night
from support.work_pool import pool
