"""What the rows of the platform table come to for one run: every count, name and variable filled in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sync_hooks.api.trainer import JsonObject
from sync_hooks.overrides.table import MNNVL, NIC, Claim, Count, Row, rows_of

OWN_FABRIC = "spec.nicResourceName"  # where no row of the table has a fabric
FORWARD = "-x"  # mpirun's option that gives a variable to the ranks


@dataclass(frozen=True, slots=True)
class Resolved:
    """What the rows are about."""

    platform: str
    architecture: str
    framework: str
    gpus: int
    """GPUs of a node."""
    nics: int
    """Fabric interfaces of a node: the run's number, else the table's."""
    own_nics: int | None
    """The run's number of fabric interfaces, where it gives one."""
    nic_resource: str
    """Extended resource of the interfaces on-premises; empty where it is not known."""
    mnnvl: bool
    user_env: Sequence[JsonObject] = ()
    """The user's EnvVars: they win over a row's by name."""
    user_amounts: Mapping[str, int] = field(default_factory=dict)
    """Extended resources that the run's own resources name: they win over a row's by name."""
    own_nic_resource: str = ""
    """The run's name of the interfaces' resource, where it gives one."""


@dataclass(frozen=True, slots=True)
class DeviceClaim:
    """Devices that each worker claims."""

    name: str
    request: str
    device_class: str
    template: str
    count: int


@dataclass(frozen=True, slots=True)
class Effects:
    """One row, filled in."""

    source: str
    when: str
    topology_key: str = ""
    mpi_args: tuple[str, ...] = ()
    pre_command: tuple[str, ...] = ()
    env: tuple[JsonObject, ...] = ()
    container_env: tuple[JsonObject, ...] = ()
    capabilities: tuple[str, ...] = ()
    tolerations: tuple[JsonObject, ...] = ()
    compute_domain: bool = False
    claims: tuple[DeviceClaim, ...] = ()
    gpus_claimed: bool = False
    """GPUs come by a claim, so that none are requested as an extended resource."""
    fabric_resources: Mapping[str, int] | None = None
    """Extended resources of the fabric by what each node must offer."""
    fabric_claimed: bool = False
    pod_annotations: Mapping[str, str] | None = None

    @property
    def fabric(self) -> bool:
        """Whether the row gives pods a fabric."""
        return bool(self.fabric_resources) or self.fabric_claimed


def topology_key(platform: str, architecture: str) -> str:
    """Return the node label of the domain for a platform and an architecture, empty where groups follow none."""
    keys = [row.topology_key for _, row in rows_of(platform) if row.topology_key and _for(row, architecture)]
    return keys[-1] if keys else ""


def rack_key(platform: str) -> str:
    """Return the node label of a rack on a platform, whatever the architecture; empty where the table has none."""
    own = f"{platform}/"
    keys = [row.topology_key for source, row in rows_of(platform) if row.topology_key and source.startswith(own)]
    return keys[-1] if keys else ""


def effects_of(resolved: Resolved) -> tuple[Effects, ...]:
    """Return every row that applies, filled in, in the table's order; last the interfaces that only the run names."""
    rows = tuple(
        _effects(source, row, resolved) for source, row in rows_of(resolved.platform) if _applies(row, resolved)
    )
    name = resolved.own_nic_resource
    if not name or any(row.fabric for row in rows):
        return rows
    count = resolved.user_amounts.get(name, resolved.nics)
    return (*rows, Effects(OWN_FABRIC, "<always>", fabric_resources={name: count})) if count > 0 else rows


def platform_mpi_args(rows: Sequence[Effects]) -> tuple[str, ...]:
    """Return the rows' arguments of mpirun; those of later rows come first."""
    return tuple(argument for row in reversed(rows) for argument in row.mpi_args)


def fabric_needs(rows: Iterable[Effects]) -> dict[str, int]:
    """Return what each node must offer of the fabric's extended resources."""
    needs: dict[str, int] = {}
    for row in rows:
        for name, count in (row.fabric_resources or {}).items():
            needs[name] = max(count, needs.get(name, 0))
    return needs


def table_fabric(platform: str, architecture: str, gpus: int, nics: int, nic_resource: str = "") -> dict[str, int]:
    """Return what the table expects a node to offer of the fabric's extended resources: for made-up inventories."""
    resolved = Resolved(platform, architecture, "exec", gpus, nics, None, nic_resource, mnnvl=False)
    return fabric_needs(effects_of(resolved))


def _for(row: Row, architecture: str) -> bool:
    return row.architectures is None or architecture in row.architectures


def _applies(row: Row, resolved: Resolved) -> bool:
    return (
        _for(row, resolved.architecture)
        and (row.frameworks is None or resolved.framework in row.frameworks)
        and (row.gpus_per_node is None or resolved.gpus in row.gpus_per_node)
        and row.mnnvl in (None, resolved.mnnvl)
        and not (row.needs_fabric and resolved.own_nics == 0)
    )


def _effects(source: str, row: Row, resolved: Resolved) -> Effects:
    env, container_env = _variables(row.env, resolved), _variables(row.container_env, resolved)
    forwarded = (*container_env, *env) if resolved.framework == "mpi" else ()
    resources = _fabric_resources(row, resolved)
    fabric_claims = _claims(row.fabric.claims if row.fabric else (), resolved, fabric=True)
    gpu_claims = _claims([row.gpu_claim] if row.gpu_claim else (), resolved, fabric=False)
    has_fabric = bool(resources or fabric_claims)
    return Effects(
        source=source,
        when=", ".join((*(row.architectures or ()), *(row.frameworks or ()))) or "<always>",
        topology_key=row.topology_key or "",
        mpi_args=(*row.mpi_args, *(word for one in forwarded for word in (FORWARD, _operand(one)))),
        pre_command=tuple(row.pre_command),
        env=env,
        container_env=container_env,
        capabilities=tuple(row.capabilities),
        tolerations=tuple(row.tolerations),
        compute_domain=row.compute_domain,
        claims=(*gpu_claims, *fabric_claims),
        gpus_claimed=bool(gpu_claims),
        fabric_resources=resources,
        fabric_claimed=bool(fabric_claims),
        pod_annotations=row.fabric.pod_annotations if row.fabric and has_fabric else {},
    )


def _variables(values: Mapping[str, str], resolved: Resolved) -> tuple[JsonObject, ...]:
    """Write a row's variables; the user's whole variable stands in the place of one of the same name."""
    own = {variable["name"]: variable for variable in resolved.user_env}
    mnnvl = str(int(resolved.mnnvl))
    return tuple(own.get(name, {"name": name, "value": value.replace(MNNVL, mnnvl)}) for name, value in values.items())


def _operand(variable: JsonObject) -> str:
    """Write a variable for ``-x``: with its value, or bare where only the launcher's own environment has it."""
    return variable["name"] if "valueFrom" in variable else f"{variable['name']}={variable.get('value', '')}"


def _fabric_resources(row: Row, resolved: Resolved) -> dict[str, int]:
    """Return what the row requests of the fabric, without what the run has opted out of or nobody knows."""
    if row.fabric is None or resolved.own_nics == 0:
        return {}
    named = [resolved.nic_resource if name == NIC else name for name in row.fabric.resources]
    count = 1 if row.fabric.count is None else _fabric_count(row.fabric.count, resolved)
    amounts = {name: resolved.user_amounts.get(name, count) for name in named if name}
    return {name: amount for name, amount in amounts.items() if amount > 0}


def _fabric_count(count: Count, resolved: Resolved) -> int:
    if resolved.own_nics is not None:
        return resolved.own_nics
    return _count(count, resolved)


def _count(count: Count, resolved: Resolved) -> int:
    return {"gpus": resolved.gpus, "nics": resolved.nics}[count] if isinstance(count, str) else count


def _claims(claims: Iterable[Claim], resolved: Resolved, *, fabric: bool) -> tuple[DeviceClaim, ...]:
    counted = (
        (claim, _fabric_count(claim.count, resolved) if fabric else _count(claim.count, resolved)) for claim in claims
    )
    return tuple(
        DeviceClaim(claim.name, claim.request, claim.device_class, claim.template, count)
        for claim, count in counted
        if count > 0
    )
