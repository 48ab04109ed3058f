"""What does the description say?"""
