"""One cell of the table, measured in this process: `python -m bench.cell PEER SCENARIO` prints one line of JSON."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from typing import Any

from bench.scenarios import Unavailable
from bench.suites import ALL


def main(name: str, scenario_id: str) -> None:
    scenario = next(s for s in ALL if s.id == scenario_id)
    peer: Any = importlib.import_module(f"bench.{scenario.suite}.{name}")
    reason = peer.LACKS.get(scenario_id)
    if reason is None:
        try:
            size = peer.FEWER.get(scenario_id, scenario.size)
            measured = asyncio.run(scenario.measure(peer, size))
            print(json.dumps({"measured": {**measured, "size": size}}))
            return
        except Unavailable as error:
            reason = str(error)
    print(json.dumps({"absent": reason}))


if __name__ == "__main__":
    main(*sys.argv[1:])
