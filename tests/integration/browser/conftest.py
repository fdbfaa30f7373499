from support.browser import audit, site, tab
from support.report_runs import nights, pages
