"""The plugin layer: manifests, discovery, wiring, hooks, loading."""
