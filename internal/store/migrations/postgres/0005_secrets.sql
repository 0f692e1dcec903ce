-- What the processes of a service share and tell nobody, such as the key that signs reports.
CREATE TABLE secrets (
  name  TEXT COLLATE "C" PRIMARY KEY,
  value BYTEA NOT NULL
);
