-- What is known of the clock by which results are deleted: the latest time at which
-- that was looked for and the clock was believed, and, while it is not, since when
-- by itself. Microseconds since 1970-01-01 00:00 UTC.
CREATE TABLE clock (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  seen_at    INTEGER NOT NULL,
  doubted_at INTEGER
) STRICT;
