-- Times are microseconds since 1970-01-01 00:00 UTC. Days are days since then.
-- Old and new versions of the program run on one schema while a service is
-- renewed: a later file only adds (DESIGN.md).

CREATE TABLE accounts (
  id         TEXT COLLATE "C" PRIMARY KEY,
  name       TEXT COLLATE "C" NOT NULL UNIQUE,
  plan       TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE keys (
  id         TEXT COLLATE "C" PRIMARY KEY, -- public: the key's first characters
  account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
  hash       BYTEA NOT NULL,               -- SHA-256 of the whole key
  created_at BIGINT NOT NULL,
  revoked_at BIGINT
);
CREATE INDEX keys_by_account ON keys (account_id);

CREATE TABLE detections (
  id           TEXT COLLATE "C" PRIMARY KEY,
  account_id   TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
  mode         TEXT NOT NULL CHECK (mode IN ('sync', 'async')),
  state        TEXT NOT NULL CHECK (state IN ('processing', 'complete', 'failed')),
  sensitivity  TEXT NOT NULL,
  kind         TEXT,
  verdict      TEXT,
  confidence   DOUBLE PRECISION,
  report       TEXT,                       -- JSON
  error        TEXT,
  created_at   BIGINT NOT NULL,
  completed_at BIGINT                      -- set when complete and when failed
);
CREATE INDEX detections_by_completion ON detections (completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX detections_processing ON detections (id) WHERE state = 'processing';

-- A place held for a detection that is still processing.
CREATE TABLE reservations (
  detection_id TEXT COLLATE "C" PRIMARY KEY REFERENCES detections (id) ON DELETE CASCADE,
  account_id   TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
  period       BIGINT NOT NULL,            -- start of the period the place belongs to
  process      TEXT COLLATE "C"            -- who holds a synchronous detection's; NULL for a job's
);
CREATE INDEX reservations_by_account ON reservations (account_id, period);

-- Submissions accepted in a UTC day.
CREATE TABLE submissions (
  account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
  day        BIGINT NOT NULL,
  count      BIGINT NOT NULL,
  PRIMARY KEY (account_id, day)
);

-- Successful detections of a period.
CREATE TABLE scans (
  account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
  period     BIGINT NOT NULL,              -- its start
  count      BIGINT NOT NULL,
  PRIMARY KEY (account_id, period)
);

-- The processes at work, by this database's clock.
CREATE TABLE processes (
  id      TEXT COLLATE "C" PRIMARY KEY,
  since   TIMESTAMPTZ NOT NULL,            -- never silent for long from then on
  seen_at TIMESTAMPTZ NOT NULL
);
