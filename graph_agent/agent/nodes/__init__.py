"""One module per stage; each has one coroutine that takes the state and the step and gives an update."""
