"""Bodies composed of shapes, divided where that lowers the objective (Xu, Algorithm 1)."""
