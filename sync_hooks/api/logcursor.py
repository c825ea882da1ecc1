"""How far a log has been read: the part of a measurement's status that both kinds share."""

from __future__ import annotations

from sync_hooks.api.model import ApiModel, Int32


class LogCursor(ApiModel):
    """How far a log has been read: exact, so that no line counts twice and none is missed."""

    first_line_time: str | None = None
    """Kubelet timestamp of the first line that was read; a later one in a new read from the start means that the
    beginning of the log has been rotated away."""
    last_line_time: str | None = None
    """Kubelet timestamp of the last line that was read, nanoseconds and zone as written."""
    lines_at_last_time: Int32 | None = None
    """Number of lines read that carry exactly this timestamp."""
    empty_time: str | None = None
    """When the log was last looked at and had no line yet (RFC 3339): no line before that can have been lost."""
    page_doublings: Int32 | None = None
    """How often the page size was doubled because one second of the log did not fit into a page."""
