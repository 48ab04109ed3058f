"""Untrusted bytes → checked objects."""
