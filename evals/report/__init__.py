"""Runs shown: in a terminal, as one page, as plots."""
