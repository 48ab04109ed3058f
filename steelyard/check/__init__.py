"""Is this log, and this description, believable?"""
