"""One door to every model: OpenAI, Hugging Face, Replicate, simulated respondents, recorded replies."""
