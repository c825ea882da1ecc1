"""Label selectors as the API server evaluates them: matchLabels and the four operators of matchExpressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression; node selectors use the same form."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Evaluate In, NotIn (absent keys match), Exists, DoesNotExist, Gt and Lt; another operator matches nothing."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return self._compares(value)
        return False

    def _compares(self, value: str | None) -> bool:
        try:
            number, limit = int(value or ""), int(self.values[0])
        except (ValueError, IndexError):
            return False
        return number > limit if self.operator == "Gt" else number < limit


@dataclass(frozen=True, slots=True)
class Selector:
    """All requirements must hold; without any, everything matches."""

    requirements: tuple[Requirement, ...] = ()

    @staticmethod
    def parse(selector: Mapping[str, Any]) -> Selector:
        """Read a metav1.LabelSelector."""
        labels = selector.get("matchLabels") or {}
        equal = tuple(Requirement(key, "In", (value,)) for key, value in sorted(labels.items()))
        return Selector((*equal, *requirements(selector.get("matchExpressions") or ())))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether labels meet every requirement."""
        return all(requirement.matches(labels) for requirement in self.requirements)


def requirements(expressions: Sequence[Mapping[str, Any]]) -> tuple[Requirement, ...]:
    """Read a list of match expressions, of labels or of nodes."""
    return tuple(Requirement(item["key"], item["operator"], tuple(item.get("values") or ())) for item in expressions)
