"""Deploys biasgrid: Prefect deployments, images, schedules."""
