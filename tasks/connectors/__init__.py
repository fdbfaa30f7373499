"""Connectors to models: OpenAI, Hugging Face, Replicate, HTTP, simulated respondents, recorded replies."""
