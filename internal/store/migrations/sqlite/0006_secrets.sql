-- What the processes of a service share and tell nobody, such as the key that signs reports.
CREATE TABLE secrets (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT;
