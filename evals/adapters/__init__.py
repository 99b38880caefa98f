"""Forms of question sets: each adapter is one function that reads a path into a `QuestionSet`, registered by name.

@adapter("mine", "CSV export of the help desk", detect=lambda path: path.name == "tickets.csv")
def mine(path: Path, options: Mapping[str, str]) -> QuestionSet: ...
"""

from graph_agent.evals.adapters.registry import Adapter, adapter, adapters, find_sets, load_set

__all__ = ["Adapter", "adapter", "adapters", "find_sets", "load_set"]
