"""findings → what people look at or hand on: pages, pictures, bundles, files for other programs."""
