"""``python -m bench trust``: faults planted into simulated logs, and whether the answers end Trusted."""
