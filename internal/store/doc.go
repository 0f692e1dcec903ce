// Package store holds the service's database: it opens the SQLite file in the
// data folder, brings its schema up to date, and runs transactions on it. The
// statements that give rows their meaning are with their owners, such as
// internal/account. DESIGN.md says why it is built this way.
package store
