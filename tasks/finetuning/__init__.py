"""Tunes models on assignments with and without implicit bias, at a provider or on this machine."""
