"""The verbs, such as generate, prompt, evaluate, aggregate and report; beneath them connectors and transcripts."""
