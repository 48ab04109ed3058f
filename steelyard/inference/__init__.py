"""What do the data determine, and how surely?"""
