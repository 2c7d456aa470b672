"""Runs in a browser: a server on this machine that shows a folder of run files and changes none of them."""
