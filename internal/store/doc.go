// Package store holds the service's database, SQLite in the data folder or
// PostgreSQL: it opens it, brings its schema up to date, runs transactions on it,
// and knows which processes are at work on it. The statements that give rows their
// meaning are with their owners, such as internal/account. DESIGN.md says why it
// is built this way.
package store
