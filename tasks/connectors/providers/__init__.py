"""One module per provider: OpenAI, Azure, Hugging Face, Replicate, HTTP endpoints, local models, replay."""
