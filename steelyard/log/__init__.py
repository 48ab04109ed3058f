"""What was measured, on one clock, in SI?"""
