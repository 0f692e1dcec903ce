-- The places in which uploads of jobs wait, or waited, by the mark that each of
-- them bears. The one with the highest nth is the present one.
CREATE TABLE homes (
  id    TEXT PRIMARY KEY,
  nth   INTEGER NOT NULL UNIQUE,
  ready INTEGER NOT NULL -- 1: the place bears the mark
) STRICT;
