"""One sync of a measurement that is due: what it starts from and what it has found so far, passed from step to step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from sync_hooks.api.bandwidthmeasurement import BandwidthMeasurementSpec, BandwidthMeasurementStatus
from sync_hooks.api.goodputmeasurement import GoodputMeasurementSpec, GoodputMeasurementStatus
from sync_hooks.api.request import Request
from sync_hooks.api.sync import Observed

SpecT = TypeVar("SpecT", BandwidthMeasurementSpec, GoodputMeasurementSpec)
StatusT = TypeVar("StatusT", BandwidthMeasurementStatus, GoodputMeasurementStatus)


@dataclass(frozen=True, slots=True)
class Sample(Generic[SpecT, StatusT]):
    """One sync that is due: the request and what it was parsed to, with the status as it will be answered."""

    request: Request
    spec: SpecT
    status: StatusT
    observed: Observed
    now: datetime

    def having(self, **update: object) -> Sample[SpecT, StatusT]:
        """Return the sample with fields of its status replaced."""
        return replace(self, status=self.status.model_copy(update=update))

    @property
    def namespace(self) -> str:
        """Where the measurement, its Job and all pods are."""
        return self.request.parent.metadata.namespace
