"""Programs that measure: quality and speed of retrieval, against the parts and against peers."""
