from support.report_runs import nights
