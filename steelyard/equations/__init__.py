"""Which rows Yθ ≈ τ do these samples give, kept or streamed?"""
