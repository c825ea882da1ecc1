"""What a schema can say about a field: patterns with their sentences, bounds, CEL rules. Knows no model."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic.config import JsonDict

_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_DOMAIN = r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?"
_AMOUNT = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)"

DURATION_PATTERN = f"^{_AMOUNT}({_AMOUNT})*$"
LABEL_VALUE_PATTERN = r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"
QUANTITY_PATTERN = r"^([0-9]+(\.[0-9]+)?)(Ki|Mi|Gi|Ti|Pi|Ei)?$"
QUEUE_LABEL_KEY_PATTERN = f"^$|^({_DOMAIN}/)?{_NAME}$"
QUEUE_PATTERN = r"^$|^[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?$"
RESOURCE_NAME_PATTERN = f"^{_DOMAIN}/{_NAME}$"

MEANINGS = {
    LABEL_VALUE_PATTERN: "must be empty or a label value: letters, digits, '-', '_' and '.', alphanumeric at both ends",
    QUANTITY_PATTERN: "must be a number with or without one of Ki, Mi, Gi, Ti, Pi, Ei, for example 500Gi",
    QUEUE_LABEL_KEY_PATTERN: "must be empty or a label key, for example kai.scheduler/queue",
    QUEUE_PATTERN: "must be empty or a label value: letters, digits, '-', '_' and '.', alphanumeric at both ends",
    RESOURCE_NAME_PATTERN: "must be the name of an extended resource, for example rdma/ib",
}
"""What to say where a pattern does not match. Patterns of the form ``^(A|B)$`` list their words instead."""

# With all of these at once, every generated name, the longest pod's included, still fits into 63 characters.
MOST_ITERATIONS = 1000
MOST_LABELS = 32
MOST_NODES_PER_GROUP = 10000
MOST_RESTARTS = 100
MOST_RETRIES = 10
MOST_THRESHOLDS = 16

LARGEST_OBJECT_BYTES = 240_000
"""Metacontroller keeps each child a second time in an annotation, and annotations end at 262,144 bytes."""
DEFAULT_QUEUE = "default-queue"


@dataclass(frozen=True, slots=True)
class NameRule:
    """What the names of a kind are like: at most so long, of this pattern, in words."""

    longest: int
    pattern: str
    meaning: str


RUN_NAMES = NameRule(
    63,  # it becomes a label's value
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
    "must consist of lower case letters, digits and '-', alphanumeric at both ends",
)
JOB_NAMES = NameRule(
    39,  # with -w100-launcher-0-0-xxxxx these are 63
    r"^[a-z]([-a-z0-9]*[a-z0-9])?$",  # Trainer asks that of the TrainJob, whose name begins with it
    "must consist of lower case letters, digits and '-', begin with a letter and not end with '-'",
)
OBJECT_NAMES = NameRule(
    253,
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    "must consist of lower case letters, digits, '-' and '.', alphanumeric at both ends",
)

INTRA_NODE, INTRA_RACK = "intra-node", "intra-rack"
"""Test scales whose groups are formed by the place of nodes."""

QUEUE_LABEL_KEY = "kai.scheduler/queue"
"""Label that names the queue where the run does not say which one does."""

THRESHOLD_KEYS = ("algBandwidthGBps", "avgStepTimeSec", "avgTFLOPsPerGPU", "busBandwidthGBps", "goodputRatio")
"""Measured values that thresholds may name."""

_WORDS = re.compile(r"^\^\(([A-Za-z0-9|-]+)\)(\?)?\$$")


def words_of(pattern: str) -> tuple[str, ...]:
    """Return the words of a pattern that lists words, ``^(A|B)$`` or ``^(A|B)?$``; empty for any other."""
    match = _WORDS.match(pattern)
    if match is None:
        return ()
    return (*([""] if match[2] else []), *match[1].split("|"))


def cel(rule: str, message: str) -> JsonDict:
    """Write one validation rule of a CRD."""
    return {"rule": rule, "message": message}


def with_rules(*rules: JsonDict) -> JsonDict:
    """Write the schema member that holds validation rules."""
    return {"x-kubernetes-validations": [*rules]}


IMMUTABLE = cel("self == oldSelf", "spec is immutable after creation")
ONE_OF_SCRIPT_AND_MODULE = cel("has(self.script) != has(self.module)", "exactly one of script and module is given")
KNOWN_THRESHOLDS = cel(
    f"self.all(k, k in [{', '.join(repr(key) for key in THRESHOLD_KEYS)}])", f"the keys are {', '.join(THRESHOLD_KEYS)}"
)
NOT_KUBERNETES_RESOURCE = cel(
    "!self.matches('^([^/]*[.])?(kubernetes|k8s)[.]io/')", "the domains kubernetes.io and k8s.io are reserved"
)
NOT_OUR_LABEL = cel(
    "self != 'app.kubernetes.io/managed-by' && !self.startsWith('cre.nvidia.com/')",
    "app.kubernetes.io/managed-by and cre.nvidia.com/ are reserved",
)
NOT_OUR_LABELS = cel(
    "self.all(k, k != 'app.kubernetes.io/managed-by' && !k.startsWith('cre.nvidia.com/'))",
    "app.kubernetes.io/managed-by and cre.nvidia.com/ are reserved",
)
