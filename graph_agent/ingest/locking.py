"""The locks of those who write documents, by the names they are known by here."""

from __future__ import annotations

from graph_agent.store.locking import ENRICH_LOCK, LOCK, VECTOR_LOCK, sync_lock

__all__ = ["ENRICH_LOCK", "LOCK", "VECTOR_LOCK", "sync_lock"]
