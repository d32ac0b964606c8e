from __future__ import annotations

import itertools
import os
import signal
import sys
from pathlib import Path

import pytest

from agentflow.cli.watch import changes
from tests.cli.flows import BROKEN, SOUND
from tests.cli.processes import started
from tests.cli.shell import PATIENCE, Project


def test_a_check_follows_every_change_and_nothing_else() -> None:
    a, b = Path("a.py"), Path("b.py")
    looks = iter(
        [
            {a: (1, 1)},
            {a: (1, 1)},
            {a: (2, 1)},
            {a: (2, 1), b: (1, 1)},
            {a: (2, 1), b: (1, 1)},
            {b: (1, 2)},
        ]
    )
    pauses: list[None] = []
    followed = changes(lambda: next(looks), lambda: pauses.append(None))
    seen = list(itertools.islice(followed, 4))
    assert seen == [(), (a,), (b,), (a, b)]
    assert len(pauses) == 5


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_watching_checks_again_after_a_change_until_it_is_interrupted(project: Project) -> None:
    path = project.write("flow.py", SOUND)
    with started(project, "validate", "flow.py", "--watch", "--select", "AF1") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "1 workflow checked: no findings\n"
        path.write_text(BROKEN, encoding="utf-8")
        os.utime(path, ns=(1, 1))
        assert process.stdout.readline().startswith("error[AF1")
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "watching" in err
    assert "Traceback" not in err
