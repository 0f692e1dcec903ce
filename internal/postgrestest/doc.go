// Package postgrestest gives tests real PostgreSQL databases: one throw-away
// server for each test binary, started when the first database is asked for.
package postgrestest
