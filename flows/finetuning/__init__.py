"""Fine-tuning as a Prefect flow."""
