-- The places in which uploads of jobs wait, or waited, by the mark that each of
-- them bears. The one with the highest nth is the present one.
CREATE TABLE homes (
  id    TEXT COLLATE "C" PRIMARY KEY,
  nth   BIGINT NOT NULL UNIQUE,
  ready BOOLEAN NOT NULL -- the place bears the mark
);
