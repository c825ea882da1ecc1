"""A real Kubernetes control plane on loopback: etcd, API server, controllers, scheduler, JobSet, Trainer, and KWOK.

Usage: python -m tests.cluster.controlplane up | down       start or stop the one that a person works with
       python -m tests.cluster.controlplane serve FOLDER    hold one up until standard input closes or SIGTERM comes

Whoever needs one for a while holds the pipe of `serve`, so it is stopped when its holder ends, however that ends. Pods
do not run: KWOK says that they do (stages.py). All is in one run folder: data, keys, logs, pid files, kubeconfig.
"""

from __future__ import annotations

import os
import shutil
import signal
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.cluster import addons, build, components
from tests.cluster.components import Run, Settings
from tests.cluster.pki import create_authority
from tests.cluster.processes import StartFailed, running, start, stop, wait_until
from tests.support.kubectl import Kubectl, KubectlError

# a controller would linger without its API server, an API server without its etcd: each group goes before the next
STOP_ORDER = (
    ("kwok", "trainer", "jobset", "kube-scheduler", "kube-controller-manager"),
    ("kube-apiserver",),
    ("etcd",),
)
READY = "ready"
"""This file appears in the run folder when everything answers; ``error`` when it never will."""


def start_all(run: Run) -> None:
    """Start everything in a new run folder and return when all of it answers. Raises StartFailed or KubectlError."""
    start_api(run)
    start(run.folder, "kube-controller-manager", components.controller_manager(run))
    start(run.folder, "kube-scheduler", components.scheduler(run))
    addons.install(run)
    kubectl = Kubectl(run.kubeconfig, run.binary("kubectl"))
    default_account = lambda: kubectl.find("serviceaccount", "default") is not None  # noqa: E731 - pods need one
    wait_until(default_account, run.folder, "kube-controller-manager")
    (run.folder / READY).touch()


def start_api(run: Run) -> None:
    """Start the API server alone, with its store, and return when it answers. Raises StartFailed."""
    _make_keys(run)
    components.write_configuration(run)
    start(run.folder, "etcd", components.etcd(run))
    start(run.folder, "kube-apiserver", components.api_server(run))
    wait_until(lambda: _answers(run), run.folder, "kube-apiserver")


def stop_all(folder: Path) -> None:
    """Stop whatever of a run folder still runs; safe to call at any time."""
    for group in STOP_ORDER:
        stop(folder, group)


def serve(folder: Path, settings: Settings, hold: Callable[[], object]) -> int:
    """Hold a control plane up while ``hold`` runs, then stop it; trouble while starting is left in ``error``."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "serve.pid").write_text(str(os.getpid()))
    try:
        start_all(Run(folder, build.ensure(), settings))
        hold()
    except (StartFailed, KubectlError, build.ToolsMissing) as error:
        (folder / "error").write_text(str(error))
        return 1
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # stopping is not to be interrupted halfway
        stop_all(folder)
    return 0


def sweep(runs: Path) -> None:
    """Stop and remove the run folders whose holder was killed together with its server."""
    for folder in sorted(runs.glob("*/")):
        if (folder / "serve.pid").exists() and not running(folder, "serve"):
            stop_all(folder)
            shutil.rmtree(folder, ignore_errors=True)


def _make_keys(run: Run) -> None:
    authority = create_authority(run.pki)
    names = {"127.0.0.1", "localhost", "10.96.0.1", "kubernetes.default.svc", run.settings.address}
    authority.issue("api", "kube-apiserver", hosts=sorted(names))
    authority.issue("admin", "admin", group="system:masters")


def _answers(run: Run) -> bool:
    context = ssl.create_default_context(cafile=str(run.pki / "ca.crt"))
    context.load_cert_chain(run.pki / "admin.crt", run.pki / "admin.key")
    try:
        with urllib.request.urlopen(f"{run.server}/readyz", context=context, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def up(folder: Path) -> int:
    """Start the control plane that a person works with, unless it is up; print how to use it."""
    if not (folder / READY).exists() or not running(folder, "kube-apiserver"):
        down(folder)
        folder.mkdir(parents=True)
        started = time.monotonic()
        try:
            start_all(Run(folder, build.ensure()))
        except (StartFailed, KubectlError, build.ToolsMissing) as error:
            stop_all(folder)
            print(error, file=sys.stderr)
            return 1
        print(f"up after {time.monotonic() - started:.0f} s; logs in {folder}")
    print(f"export KUBECONFIG={folder}/kubeconfig PATH={build.tools_folder()}/bin:$PATH")
    return 0


def down(folder: Path) -> int:
    """Stop it and remove all that it wrote."""
    stop_all(folder)
    shutil.rmtree(folder, ignore_errors=True)
    return 0


def main(arguments: Sequence[str]) -> int:
    """Run one of the commands; 2 where there is no such command."""
    mine = build.cache_folder() / "cluster"
    match list(arguments):
        case ["up"]:
            return up(mine)
        case ["down"]:
            return down(mine)
        case ["serve", folder]:
            return serve(Path(folder), Settings(), sys.stdin.read)
        case _:
            print(__doc__, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
