"""The lines of the documentation that free what hangs, run as they stand there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.cluster.chart.release import CHART
from tests.cluster.cluster import Cluster

DOCUMENT = CHART.parents[1] / "docs" / "installation.md"


def rescue(cluster: Cluster, kind: str, folder: Path) -> None:
    """Run the documented line about a kind, in a shell whose kubectl is that of the tests."""
    pattern = rf"^    (kubectl get {re.escape(kind)} .*?\n    +done)$"
    [line] = re.findall(pattern, DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)
    (folder / "kubectl").symlink_to(cluster.kubectl.program)
    environment = {"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(folder), "KUBECONFIG": str(cluster.kubeconfig)}
    subprocess.run(["sh", "-ec", line], env=environment, check=True, capture_output=True)
