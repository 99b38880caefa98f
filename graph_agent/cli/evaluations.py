"""The command `eval`; evaluation is a package of its own and brings its commands."""

from __future__ import annotations

from graph_agent.cli.opening import settings_of_context
from graph_agent.cli.options import global_options
from graph_agent.evals.commands import eval_group

evaluations = eval_group(global_options, settings_of_context)
