-- Times are microseconds since 1970-01-01 00:00 UTC. Days are days since then.

CREATE TABLE accounts (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  plan       TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE keys (
  id         TEXT PRIMARY KEY,           -- public: the key's first characters
  account_id TEXT NOT NULL REFERENCES accounts (id),
  hash       BLOB NOT NULL,              -- SHA-256 of the whole key
  created_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT;
CREATE INDEX keys_by_account ON keys (account_id);

CREATE TABLE detections (
  id           TEXT PRIMARY KEY,
  account_id   TEXT NOT NULL REFERENCES accounts (id),
  mode         TEXT NOT NULL CHECK (mode IN ('sync', 'async')),
  state        TEXT NOT NULL CHECK (state IN ('processing', 'complete', 'failed')),
  sensitivity  TEXT NOT NULL,
  kind         TEXT,
  verdict      TEXT,
  confidence   REAL,
  report       TEXT,                     -- JSON
  error        TEXT,
  created_at   INTEGER NOT NULL,
  completed_at INTEGER                   -- set when complete and when failed
) STRICT;
CREATE INDEX detections_by_completion ON detections (completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX detections_processing ON detections (state) WHERE state = 'processing';

-- A place held for a detection that is still processing.
CREATE TABLE reservations (
  detection_id TEXT PRIMARY KEY REFERENCES detections (id) ON DELETE CASCADE,
  account_id   TEXT NOT NULL REFERENCES accounts (id),
  period       INTEGER NOT NULL          -- start of the period the place belongs to
) STRICT;
CREATE INDEX reservations_by_account ON reservations (account_id, period);

-- Submissions accepted in a UTC day.
CREATE TABLE submissions (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  day        INTEGER NOT NULL,
  count      INTEGER NOT NULL,
  PRIMARY KEY (account_id, day)
) STRICT;

-- Successful detections of a period.
CREATE TABLE scans (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  period     INTEGER NOT NULL,           -- its start
  count      INTEGER NOT NULL,
  PRIMARY KEY (account_id, period)
) STRICT;
