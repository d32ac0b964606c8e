"""The shell: one file a command, put together in `agentflow.cli.main`."""
