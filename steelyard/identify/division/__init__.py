"""Bodies made of shapes, divided where that explains more (Xu, Algorithm 1)."""
