"""Jobs at providers: batches and fine-tuning."""
