"""kubectl as a function: one call, its output, and an error that says what the server said.

Knows no cluster of its own: kubeconfig and program are given, so that no test reaches one by accident.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class KubectlError(Exception):
    """A call failed; the text is what kubectl wrote to standard error."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl against one cluster, in one namespace unless a call names another."""

    kubeconfig: Path
    program: str
    namespace: str = "default"

    def __call__(self, *arguments: str, input: str | None = None) -> str:
        """Run kubectl and return its standard output. Raises KubectlError."""
        command = [self.program, f"--kubeconfig={self.kubeconfig}", f"--namespace={self.namespace}", *arguments]
        done = subprocess.run(command, input=input, capture_output=True, text=True, check=False)
        if done.returncode:
            raise KubectlError(done.stderr.strip() or done.stdout.strip())
        return done.stdout

    def apply(self, documents: Iterable[Mapping[str, Any]]) -> str:
        """Apply objects server-side, as one call."""
        whole = {"apiVersion": "v1", "kind": "List", "items": list(documents)}
        return self("apply", "--server-side", "--force-conflicts", "-f", "-", input=json.dumps(whole))

    def get(self, kind: str, name: str) -> dict[str, Any]:
        """Read one object. Raises KubectlError where there is none."""
        found: dict[str, Any] = json.loads(self("get", kind, name, "-o", "json"))
        return found

    def find(self, kind: str, name: str) -> dict[str, Any] | None:
        """Read one object, None where there is none."""
        text = self("get", kind, name, "-o", "json", "--ignore-not-found")
        return json.loads(text) if text else None

    def list(self, kind: str, *arguments: str) -> list[dict[str, Any]]:
        """Read all objects of a kind, with further arguments such as a selector."""
        items: list[dict[str, Any]] = json.loads(self("get", kind, "-o", "json", *arguments))["items"]
        return items
