"""The formats of logs, an entry each: how a tool's logs are recognised and where fields stand in them."""
