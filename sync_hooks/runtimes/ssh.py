"""Scripts of MPI pods: start of sshd on workers, keys and a bounded wait on the launcher, and the workers' probe.

Plain POSIX shell. Nothing is ever installed: without sshd or an ssh client in the image the pod fails at once and says
why, also where pods have no way out of the cluster.
"""

from __future__ import annotations

from sync_hooks.api.trainer import JsonObject

RAW_KEYS_PATH = "/tmp/mpi-ssh-raw"  # noqa: S108 - where Trainer mounts its Secret; sshd refuses the modes it comes with
SSH_PATH = "/root/.ssh"
HOSTFILE_PATH = "/etc/mpi"

WAIT_LIMIT_SECONDS = 1200  # enough to pull an image of 20 GB; a worker that will never come must not hold a group
WAIT_ROUND_SECONDS = 5
REPORT_ROUNDS = 10

_KEYS = f"""\
mkdir -p {SSH_PATH}
chmod 0700 {SSH_PATH}
cp {RAW_KEYS_PATH}/id_rsa {RAW_KEYS_PATH}/id_rsa.pub {RAW_KEYS_PATH}/authorized_keys {SSH_PATH}/
chmod 0600 {SSH_PATH}/id_rsa
chmod 0644 {SSH_PATH}/id_rsa.pub {SSH_PATH}/authorized_keys
"""

_FAIL = """\
fail() {
  echo "$1" >&2
  echo "$1" >/dev/termination-log || true
  exit 1
}
"""

_SSH_OPTIONS = (
    "-o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectTimeout=5"
)

WORKER_START = f"""\
set -eux
{_FAIL}\
[ -x /usr/sbin/sshd ] || fail "/usr/sbin/sshd is missing: MPI workers need an image with an OpenSSH server"
mkdir -p /var/run/sshd
chmod 0755 /var/run/sshd
{_KEYS}\
ls /etc/ssh/ssh_host_*_key >/dev/null 2>&1 || ssh-keygen -A
exec /usr/sbin/sshd -De
"""

LAUNCHER_INIT = f"""\
set -eu
{_FAIL}\
command -v ssh >/dev/null || fail "ssh is missing: the MPI launcher needs an image with an OpenSSH client"
{_KEYS}\
limit=
if command -v timeout >/dev/null; then limit="timeout 10"; fi
own=$(hostname)
hosts=$(cut -d ' ' -f 1 {HOSTFILE_PATH}/hostfile) || fail "{HOSTFILE_PATH}/hostfile cannot be read"
[ -n "$hosts" ] || fail "{HOSTFILE_PATH}/hostfile names no worker"
silent=
for host in $hosts; do
  case "$host" in "$own" | "$own".*) ;; *) silent="$silent $host" ;; esac
  domain=${{host#*.}}
done
deadline=$(($(date +%s) + {WAIT_LIMIT_SECONDS}))
in_time() {{ [ "$(date +%s)" -lt "$deadline" ]; }}
resolves() {{ ! command -v getent >/dev/null || getent hosts "$1" >/dev/null; }}
round=0
error=
while :; do
  still=
  for host in $silent; do
    if in_time; then
      answer=$($limit ssh {_SSH_OPTIONS} "$host" true </dev/null 2>&1) || {{ still="$still $host"; error=$answer; }}
    else
      still="$still $host"
    fi
  done
  silent=$still
  if ! resolves "$own" && ! resolves "$own.$domain"; then
    still="$still $own"
    error="the name of the launcher does not resolve"
  fi
  [ -n "$still" ] || exit 0
  in_time || {{
    for host in $still; do echo "no answer from host $host" >&2; done
    fail "no answer from$still: $error (does a network policy close port 22?)"
  }}
  round=$((round + 1))
  if [ $((round % {REPORT_ROUNDS})) -eq 0 ]; then echo "waiting for$still: $error"; fi
  sleep {WAIT_ROUND_SECONDS}
done
"""

_PROBE = f"""\
limit=
if command -v timeout >/dev/null; then limit="timeout 8"; fi
if command -v ssh >/dev/null; then exec $limit ssh {_SSH_OPTIONS} 127.0.0.1 true </dev/null; fi
exec grep -q ':0016 [0-9A-F]*:0000 0A' /proc/net/tcp /proc/net/tcp6
"""


def readiness_probe() -> JsonObject:
    """Return the probe of a worker: a real session to itself, because an open port alone proves no working sshd.

    Without a client in the image it looks for a listener on port 22. It never dials another pod.
    """
    return {
        "exec": {"command": ["sh", "-c", _PROBE]},
        "initialDelaySeconds": 5,
        "periodSeconds": 30,
        "timeoutSeconds": 10,
    }
