"""Who may do what: the hooks may get the kinds in the table of what is ever read, or list and create those named here.

Whether each kind in that table is really read is not looked at.
"""

from __future__ import annotations

from tests.charts.helm import DEVICE_APIS, Helm, Object, of_kind, one, rules
from webhook.apiserver import RESOURCES

LISTED = {("", "nodes"), ("", "pods"), ("", "events"), ("", "resourcequotas"), ("cre.nvidia.com", "workflows")}
ONLY_LISTED = {"pods", "events", "resourcequotas"}


def group(api_version: str) -> str:
    return api_version.partition("/")[0] if "/" in api_version else ""


def test_the_hooks_may_read_what_they_read_and_post_events(rendered: list[Object]) -> None:
    reads = {
        (group(version), resource, "get") for (version, _), resource in RESOURCES.items() if resource not in ONLY_LISTED
    }
    expected = reads | {(*resource, "list") for resource in LISTED} | {("", "events", "create")}
    assert rules(one(rendered, "ClusterRole", "-hooks")) == expected | {("", "pods/log", "get")}


def test_the_hooks_have_no_other_role(rendered: list[Object]) -> None:
    bindings = [*of_kind(rendered, "RoleBinding"), *of_kind(rendered, "ClusterRoleBinding")]
    bound = [binding for binding in bindings if binding["subjects"][0]["name"] == "workloadrun-hooks"]
    assert [(binding["kind"], binding["roleRef"]["name"]) for binding in bound] == [
        ("ClusterRoleBinding", "workloadrun-hooks")
    ]


def test_admission_may_touch_its_own_objects_by_name_only(helm: Helm) -> None:
    objects = helm.render(apis=DEVICE_APIS)
    unbound = {
        (group, resource, verb)
        for kind in ("Role", "ClusterRole")
        for rule in one(objects, kind, "-admission")["rules"]
        if not rule.get("resourceNames")
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert unbound == {
        ("", "events", "create"),
        ("discovery.k8s.io", "endpointslices", "list"),
        ("cre.nvidia.com", "logprofiles", "create"),
    }
    named = {
        name for rule in one(objects, "ClusterRole", "-admission")["rules"] for name in rule.get("resourceNames", [])
    }
    made = {found["metadata"]["name"] for found in objects}
    profiles = set(one(objects, "ConfigMap", "-profiles")["data"])
    assert named <= made | {name.removesuffix(".yaml") for name in profiles}


def test_with_cert_manager_admission_may_not_touch_webhooks(helm: Helm) -> None:
    objects = helm.render("tls.source=cert-manager")
    assert not [rule for rule in rules(one(objects, "ClusterRole", "-admission")) if "webhook" in rule[1]]


def test_users_may_write_no_status(rendered: list[Object]) -> None:
    for ending in ("-view", "-edit"):
        assert not [resource for _, resource, _ in rules(one(rendered, "ClusterRole", ending)) if "/" in resource]
    written = {resource for _, resource, _ in rules(one(rendered, "ClusterRole", "-edit"))}
    assert written == {"workloadruns"}


def test_metacontroller_may_do_all_that_its_controllers_ask_for(helm: Helm) -> None:
    objects = helm.render(apis=DEVICE_APIS)
    allowed = rules(one(objects, "ClusterRole", "-metacontroller"))
    for controller in of_kind(objects, "CompositeController"):
        spec = controller["spec"]
        parent = spec["parentResource"]
        own, plural = group(parent["apiVersion"]), parent["resource"]
        needed = {(own, plural, verb) for verb in ("get", "list", "watch", "update")}
        needed |= {(own, f"{plural}/status", verb) for verb in ("get", "update")}
        for child in spec.get("childResources", []):
            verbs = ("get", "list", "watch", "create", "update", "patch", "delete")
            needed |= {(group(child["apiVersion"]), child["resource"], verb) for verb in verbs}
            needed.add((own, f"{plural}/finalizers", "update"))
        assert needed <= allowed, needed - allowed


def test_metacontroller_gets_no_rights_to_devices_that_are_not_served(rendered: list[Object]) -> None:
    resources = {resource for _, resource, _ in rules(one(rendered, "ClusterRole", "-metacontroller"))}
    assert not resources & {"computedomains", "resourceclaimtemplates"}


def test_nobody_is_given_everything(helm: Helm) -> None:
    for role in of_kind(helm.render(apis=DEVICE_APIS), "ClusterRole"):
        assert "*" not in {word for rule in rules(role) for word in rule}
