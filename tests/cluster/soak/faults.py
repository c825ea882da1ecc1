"""What is done to the installation while runs are under way: a random fault every few seconds, from a seed."""

from __future__ import annotations

import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.cluster import processes
from tests.cluster.cluster import Cluster
from tests.cluster.product import ADDRESS, Product
from tests.support.kubectl import KubectlError

API, KUBELETS = "kube-apiserver", "kwok"
API_RESTARTED = "API server restarted"
CALM_SECONDS = (2.0, 8.0)  # from the end of a fault to the next
DOWN_SECONDS = (0.0, 4.0)
API_STAYS_SECONDS = 180.0  # where it fails again and again, the garbage collector backs off for up to 17 minutes
NODE_CONDITION = (
    '{"status": {"conditions": [{"type": "Ready", "status": "%s", "reason": "Flapping", "message": "arranged"}]}}'
)


class Faults:
    """Does faults on a thread of its own until it is left; leaving raises what went wrong with doing them."""

    def __init__(self, cluster: Cluster, product: Product, idle: str, seed: int) -> None:
        self._cluster = cluster
        self._product = product
        self._idle = idle
        self._dice = random.Random(seed)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="faults")
        self._failure: BaseException | None = None
        self.done: Counter[str] = Counter()

    def __enter__(self) -> Faults:
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._over.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        kinds: Mapping[str, Callable[[], None]] = {
            "hooks killed": lambda: self._replace("hooks"),
            "admission killed": lambda: self._replace("admission"),
            API_RESTARTED: self._restart_api,
            "certificate renewed": self._renew,
            "node flapped": self._flap,
        }
        restarted = -math.inf
        try:
            while not self._over.wait(self._dice.uniform(*CALM_SECONDS)):
                stays = time.monotonic() < restarted + API_STAYS_SECONDS
                name = self._dice.choice(sorted(kinds.keys() - ({API_RESTARTED} if stays else set())))
                kinds[name]()
                self.done[name] += 1
                restarted = time.monotonic() if name == API_RESTARTED else restarted
        except BaseException as error:
            self._failure = error

    def _replace(self, server: str) -> None:
        self._product.kill(server)
        time.sleep(self._dice.uniform(*DOWN_SECONDS))
        self._product.start(server)

    def _restart_api(self) -> None:
        """Take the API server away for a while; KWOK begins anew, for it would back off longer than any kubelet."""
        folder, names = self._cluster.folder, (API, KUBELETS)
        commands = [Path(f"/proc/{processes.running(folder, name)}/cmdline").read_text() for name in names]
        processes.stop(folder, [API], grace=20)
        time.sleep(self._dice.uniform(*DOWN_SECONDS))
        processes.stop(folder, [KUBELETS])
        for name, command in zip(names, commands, strict=True):
            processes.start(folder, name, command.split("\0")[:-1])
            processes.wait_until(self._answers, folder, name)

    def _answers(self) -> bool:
        try:
            return self._cluster.kubectl("get", "--raw=/readyz").strip() == "ok"
        except KubectlError:
            return False

    def _renew(self) -> None:
        """Serve another certificate of the same authority, without a restart."""
        self._cluster.authority.issue("tls", "workloadrun", hosts=[ADDRESS], folder=self._product.folder)

    def _flap(self) -> None:
        """A node that no run is about comes and goes: the hooks see other nodes every time they look."""
        for status in ("False", "True"):
            patch = NODE_CONDITION % status
            self._cluster.kubectl(
                "patch", "node", self._idle, "--subresource=status", "--type=strategic", "--patch", patch
            )
