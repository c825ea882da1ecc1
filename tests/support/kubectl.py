"""kubectl as a function: one call, its output, and an error that says what the server said.

Knows no cluster of its own: kubeconfig and program are given, so that no test reaches one by accident.
"""

from __future__ import annotations

import builtins
import json
import subprocess
import time
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

    def wait_for_definitions(self, *names: str, seconds: float = 30.0) -> None:
        """Wait until CRDs of these names, without names all, are served. Raises KubectlError.

        Instead of ``kubectl wait``, which takes a CRD whose conditions are not written yet for an error.
        """
        deadline = time.monotonic() + seconds
        while missing := self._not_served(names):
            if time.monotonic() > deadline:
                raise KubectlError(f"not served after {seconds:.0f} s: {', '.join(missing)}")
            time.sleep(0.2)

    def _not_served(self, names: tuple[str, ...]) -> builtins.list[str]:
        definitions = self.list("crd")
        served = {item["metadata"]["name"]: _is_served(item) for item in definitions}
        return [name for name in names or served if not served.get(name)]


def _is_served(definition: Mapping[str, Any]) -> bool:
    conditions = definition.get("status", {}).get("conditions") or ()
    return any(item["type"] == "Established" and item["status"] == "True" for item in conditions)
