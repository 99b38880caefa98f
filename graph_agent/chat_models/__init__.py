"""Chat models: the one that the settings name, what its errors mean, and what it sends made usable."""
