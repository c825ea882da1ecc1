"""Settings come from the environment; what is wrong with them is said in one line that names the variable."""

from __future__ import annotations

from pathlib import Path

import pytest

from webhook.settings import Settings, SettingsError, read_settings

ADMISSION = {"WORKLOADRUN_ROLE": "admission", "WORKLOADRUN_TLS_DIR": "/tls"}
HOOKS = {**ADMISSION, "WORKLOADRUN_ROLE": "hooks", "WORKLOADRUN_TOKEN_FILE": "/tokens"}


def test_admission_needs_a_role_and_a_certificate() -> None:
    assert read_settings(ADMISSION) == Settings("admission", 8443, 8080, Path("/tls"))


def test_everything_can_be_set() -> None:
    ports = {"WORKLOADRUN_PORT": "9443", "WORKLOADRUN_HEALTH_PORT": "9090", "KUBECONFIG": "/config"}
    expected = Settings("hooks", 9443, 9090, Path("/tls"), Path("/tokens"), "/config")
    assert read_settings({**HOOKS, **ports}) == expected


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        pytest.param({}, "WORKLOADRUN_ROLE", id="no-role"),
        pytest.param({**ADMISSION, "WORKLOADRUN_ROLE": "Admission"}, "WORKLOADRUN_ROLE", id="another-role"),
        pytest.param({"WORKLOADRUN_ROLE": "admission"}, "WORKLOADRUN_TLS_DIR", id="no-certificate"),
        pytest.param({**HOOKS, "WORKLOADRUN_TOKEN_FILE": ""}, "WORKLOADRUN_TOKEN_FILE", id="hooks-without-tokens"),
        pytest.param({**ADMISSION, "WORKLOADRUN_PORT": "https"}, "WORKLOADRUN_PORT", id="no-number"),
        pytest.param({**ADMISSION, "WORKLOADRUN_PORT": "0"}, "WORKLOADRUN_PORT", id="port-0"),
        pytest.param({**ADMISSION, "WORKLOADRUN_PORT": "65536"}, "WORKLOADRUN_PORT", id="port-65536"),
        pytest.param({**ADMISSION, "WORKLOADRUN_PORT": "²"}, "WORKLOADRUN_PORT", id="no-ascii-digit"),
        pytest.param({**ADMISSION, "WORKLOADRUN_HEALTH_PORT": "8443"}, "WORKLOADRUN_HEALTH_PORT", id="one-port-twice"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_variable(environment: dict[str, str], named: str) -> None:
    with pytest.raises(SettingsError) as raised:
        read_settings(environment)
    assert named in str(raised.value)
    assert "\n" not in str(raised.value)
