package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Secret is what all processes of a service have under a name. Where there is none yet, newSecret makes it: of several
// processes that do so at once the first is heeded by all.
func (s *Store) Secret(ctx context.Context, name string, newSecret func() ([]byte, error)) (value []byte, err error) {
	const find = `SELECT value FROM secrets WHERE name = $1`
	err = s.reader.QueryRowContext(ctx, find, name).Scan(&value)
	if err == nil || !errors.Is(err, sql.ErrNoRows) {
		return value, secretError(name, err)
	}
	made, err := newSecret()
	if err != nil {
		return nil, err
	}
	err = s.Write(ctx, func(tx *Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, made)
		if err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, find, name).Scan(&value)
	})
	return value, secretError(name, err)
}

func secretError(name string, err error) error {
	if err != nil {
		return fmt.Errorf("read the secret %s: %w", name, err)
	}
	return nil
}
