"""Audits: files, identities, and what of a document shows one."""
