CREATE TABLE charges (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    reserved_at TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'reserved'
        CHECK (state IN ('reserved', 'started', 'committed', 'voided')),
    voided_at TEXT,
    voided_by TEXT,
    voided_why TEXT,
    who TEXT NOT NULL,
    note TEXT NOT NULL,
    parameters TEXT NOT NULL,
    guarantee TEXT NOT NULL,
    leaks INTEGER NOT NULL
)
