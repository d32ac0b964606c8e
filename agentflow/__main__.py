"""`python -m agentflow` is `agentflow`."""

from __future__ import annotations

from agentflow.cli.main import main

if __name__ == "__main__":
    main()
