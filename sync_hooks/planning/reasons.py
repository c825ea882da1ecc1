"""Why a run cannot be planned: the reasons of the Workflow's Failed condition that planning gives."""

from __future__ import annotations

BUILD_FAILED = "BuildFailed"
CHECKPOINT_CLAIM_MISSING = "CheckpointPVCMissing"
FABRIC_RESOURCE_MISSING = "FabricResourceMissing"
GANG_SCHEDULING_CONFLICT = "GangSchedulingConflict"
GROUP_TOO_LARGE = "GroupTooLarge"
HETEROGENEOUS_PLATFORM = "HeterogeneousPlatform"
NODE_DISCOVERY_ERROR = "NodeDiscoveryError"
OBJECT_TOO_LARGE = "ObjectTooLarge"
OVERRIDE_ERROR = "OverrideError"
PARTITION_ERROR = "PartitionError"
TOO_MANY_GROUPS = "TooManyGroups"
