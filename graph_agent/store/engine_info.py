"""What we are connected to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class EngineInfo:
    """What we are connected to.

    Attributes:
        kind: `embedded` (our own child process) or `server`.
        version: FalkorDB's module version as a number, 41603 for 4.16.3; 0 when it is not told.
        redis_version: version of the Redis server below it.
        address: where it is, without user and password.
        protected: False for a server that asks for no password.
    """

    kind: Literal["embedded", "server"]
    version: int
    redis_version: str
    address: str
    protected: bool = True

    @property
    def version_text(self) -> str:
        """`4.16.3` for 41603."""
        return (
            f"{self.version // 10_000}.{self.version // 100 % 100}.{self.version % 100}"
            if self.version
            else "unknown"
        )
