"""The lake on S3-compatible storage."""
