"""Readers of session formats: each takes the documents of one file and yields its sessions."""
