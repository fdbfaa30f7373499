"""What landed, shown: show, report, sql, export, trace."""
