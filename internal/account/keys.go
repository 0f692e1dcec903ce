package account

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"errors"
	"fmt"
	"regexp"

	"deepfaked/internal/store"
)

// accountName is what an account may be called: what needs no quoting in a
// shell, a log or an address.
var accountName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$`)

// ValidateName refuses what no account may be called.
func ValidateName(account string) error {
	if !accountName.MatchString(account) {
		return fmt.Errorf("the account name %q must be 1 to 64 letters, digits and . _ @ + -, and begin with a letter or digit", account)
	}
	return nil
}

// CreateKey makes a key for the account named account, and the account when it
// is new. An account can hold several keys; they share its quota. A plan other
// than the account has is refused with a *PlanConflictError.
func (l *Ledger) CreateKey(ctx context.Context, account, plan string) (Key, error) {
	if err := ValidateName(account); err != nil {
		return Key{}, err
	}
	if _, ok := l.plans[plan]; !ok {
		return Key{}, fmt.Errorf("there is no plan %q", plan)
	}
	id, token := newToken()
	now := l.now()
	err := l.store.Write(ctx, func(tx *store.Tx) error {
		accountID, err := ensureAccount(ctx, tx, account, plan, micros(now))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO keys (id, account_id, hash, created_at) VALUES ($1, $2, $3, $4)`,
			id, accountID, hash(token), micros(now))
		return err
	})
	if err != nil {
		return Key{}, fmt.Errorf("create a key: %w", err)
	}
	info := KeyInfo{ID: id, Account: account, Plan: plan, Created: fromMicros(micros(now))}
	return Key{KeyInfo: info, Token: token}, nil
}

// ensureAccount finds or makes the account and returns its id.
func ensureAccount(ctx context.Context, tx *store.Tx, name, plan string, now int64) (string, error) {
	var id, has string
	_, err := tx.ExecContext(ctx, `
		INSERT INTO accounts (id, name, plan, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO NOTHING`,
		"acc_"+newULID(), name, plan, now)
	if err == nil {
		err = tx.QueryRowContext(ctx, `SELECT id, plan FROM accounts WHERE name = $1`, name).Scan(&id, &has)
	}
	switch {
	case err != nil:
		return "", err
	case has != plan:
		return "", &PlanConflictError{Account: name, Plan: has, Asked: plan}
	}
	return id, nil
}

// ChangePlan moves an account to another plan, from the next request on and in every
// process; what it has used of its period stays used. It returns the plan that the
// account had. The error is ErrNoAccount when there is none of that name.
func (l *Ledger) ChangePlan(ctx context.Context, account, plan string) (had string, err error) {
	if _, ok := l.plans[plan]; !ok {
		return "", fmt.Errorf("there is no plan %q", plan)
	}
	err = l.store.Write(ctx, func(tx *store.Tx) error {
		err := tx.QueryRowContext(ctx, `SELECT plan FROM accounts WHERE name = $1`, account).Scan(&had)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNoAccount
		}
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE accounts SET plan = $1 WHERE name = $2`, plan, account)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("change the plan: %w", err)
	}
	return had, nil
}

// ListKeys lists all keys, revoked ones too, by account and age.
func (l *Ledger) ListKeys(ctx context.Context) ([]KeyInfo, error) {
	rows, err := l.store.Reader().QueryContext(ctx, keyRow+` ORDER BY a.name, k.created_at, k.id`)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var list []KeyInfo
	for rows.Next() {
		info, err := scanKey(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("list keys: %w", err)
		}
		list = append(list, info)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return list, nil
}

// keyRow is what scanKey reads.
const keyRow = `
	SELECT k.id, a.name, a.plan, k.created_at, k.revoked_at
	FROM keys k JOIN accounts a ON a.id = k.account_id`

func scanKey(scan func(...any) error) (KeyInfo, error) {
	var info KeyInfo
	var created int64
	var revoked sql.NullInt64
	err := scan(&info.ID, &info.Account, &info.Plan, &created, &revoked)
	info.Created, info.Revoked = fromMicros(created), fromNullMicros(revoked)
	return info, err
}

// RevokeKey ends a key, named by its id or by the whole key, from the next
// request on and in every process. Revoking again changes nothing. The error is
// ErrKeyNotFound when there is no such key.
func (l *Ledger) RevokeKey(ctx context.Context, keyOrID string) (KeyInfo, error) {
	id, token := keyOrID, ""
	if of, ok := keyID(keyOrID); ok {
		id, token = of, keyOrID
	} else if !isKeyID(id) {
		return KeyInfo{}, fmt.Errorf("revoke a key: %w", ErrKeyNotFound)
	}
	var info KeyInfo
	err := l.store.Write(ctx, func(tx *store.Tx) error {
		if token != "" {
			if err := matches(ctx, tx, id, token); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `UPDATE keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL`,
			micros(l.now()), id)
		if err != nil {
			return err
		}
		info, err = scanKey(tx.QueryRowContext(ctx, keyRow+` WHERE k.id = $1`, id).Scan)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrKeyNotFound
		}
		return err
	})
	if err != nil {
		return KeyInfo{}, fmt.Errorf("revoke a key: %w", err)
	}
	return info, nil
}

// matches returns ErrKeyNotFound unless token is the key stored under id.
func matches(ctx context.Context, tx *store.Tx, id, token string) error {
	var stored []byte
	err := tx.QueryRowContext(ctx, `SELECT hash FROM keys WHERE id = $1`, id).Scan(&stored)
	if errors.Is(err, sql.ErrNoRows) || err == nil && subtle.ConstantTimeCompare(stored, hash(token)) != 1 {
		return ErrKeyNotFound
	}
	return err
}

// ownerOf is what Authenticate reads.
const ownerOf = `
	SELECT k.hash, k.revoked_at IS NOT NULL, a.id, a.name, a.plan, a.created_at
	FROM keys k JOIN accounts a ON a.id = k.account_id WHERE k.id = $1`

// Authenticate finds the account that a bearer token belongs to. The error is
// ErrUnauthorized when the token is malformed, unknown or revoked; any other
// error is the service's own.
func (l *Ledger) Authenticate(ctx context.Context, bearerToken string) (Account, error) {
	id, ok := keyID(bearerToken)
	if !ok {
		return Account{}, ErrUnauthorized
	}
	var a Account
	var stored []byte
	var plan string
	var created int64
	var revoked bool
	ctx, cancel := context.WithTimeout(ctx, l.look)
	defer cancel()
	err := l.store.Reader().QueryRowContext(ctx, ownerOf, id).
		Scan(&stored, &revoked, &a.ID, &a.Name, &plan, &created)
	if errors.Is(err, sql.ErrNoRows) {
		return Account{}, ErrUnauthorized
	}
	if err != nil {
		return Account{}, fmt.Errorf("look up a key: %w", err)
	}
	if subtle.ConstantTimeCompare(stored, hash(bearerToken)) != 1 || revoked {
		return Account{}, ErrUnauthorized
	}
	a.Created = fromMicros(created)
	a.Plan, err = l.plan(plan, a.Name)
	return a, err
}
