"""What runs on the far side of the wall: the fork server and the life of one program.

The fork server imports this package and nothing else of the distribution, and only the standard library beside it.
"""
