"""How is a result shown and handed on? Files appear whole or not at all, and inputs are never overwritten."""
