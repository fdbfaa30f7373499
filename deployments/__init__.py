"""How biasgrid is put on machines: Prefect deployments, images, schedules."""
