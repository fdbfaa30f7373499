"""The four verbs: generate, prompt, evaluate, aggregate; beneath them, connectors."""
