-- The process that serves the folder. What belongs to another one is left over.
CREATE TABLE processes (
  id TEXT PRIMARY KEY
) STRICT;

-- Who holds the place of a synchronous detection; NULL for a job's.
ALTER TABLE reservations ADD COLUMN process TEXT;
