"""Every fixed Cypher statement, one module per consumer, named and parameterised.

Nothing is pasted into Cypher but labels and property names from our own constants.
"""
