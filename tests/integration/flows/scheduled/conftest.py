from support.work_pool import pool
