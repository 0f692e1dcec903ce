package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"text/tabwriter"
	"time"

	"deepfaked/internal/account"
	"deepfaked/internal/config"
	"deepfaked/internal/filename"
	"deepfaked/internal/store"
)

type keysCreate struct {
	configFlags
	booksFlags
	Account string `required:"" placeholder:"NAME" env:"DEEPFAKED_ACCOUNT" help:"Account that the key belongs to; its keys share its quota."`
	Plan    string `required:"" enum:"free,starter,pro" placeholder:"PLAN" env:"DEEPFAKED_PLAN" help:"free, starter or pro."`
}

type keysList struct {
	configFlags
	booksFlags
}

type keysPlan struct {
	configFlags
	booksFlags
	Account string `arg:"" help:"Account that is to be moved."`
	Plan    string `arg:"" enum:"free,starter,pro" help:"free, starter or pro."`
}

type keysRevoke struct {
	configFlags
	booksFlags
	Key string `arg:"" name:"key-or-id" help:"The key itself, or its id as keys list shows it."`
}

// use is what a command does with the books.
type use int

const (
	reads   use = iota
	changes     // what is in them
	makes       // them, where there are none
)

// withLedger opens the books for one command. Unless it makes them they must be
// there: to list the keys of a mistyped folder should not make a database in it.
func withLedger(ctx context.Context, flags configFlags, of booksFlags, command use, fn func(*account.Ledger) error) (err error) {
	cfg, err := flags.load()
	if err != nil {
		return err
	}
	of.lay(&cfg)
	if err := check(cfg); err != nil {
		return err
	}
	if command != makes && cfg.Database == "" {
		if _, err := os.Stat(filepath.Join(cfg.Data, store.FileName)); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the data folder %s holds no database: name the folder of the service with --data", filename.Shown(cfg.Data))
		}
	}
	books, err := openBooks(ctx, cfg, command)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, books.Close()) }()
	ledger, err := account.New(books, ledgerOptions(cfg))
	if err != nil {
		return err
	}
	return books.Explain(fn(ledger))
}

// openBooks leaves an older schema to the service that may be running on it: it
// is brought up to date only when there is none, which on PostgreSQL nobody can tell.
func openBooks(ctx context.Context, cfg config.Config, command use) (*store.Store, error) {
	opts := storeOptions(cfg)
	opts.Migrate, opts.Reading = false, command == reads
	books, err := store.Open(ctx, cfg.Data, opts)
	if _, older := errors.AsType[*store.OlderSchemaError](err); !older || cfg.Database != "" {
		return books, err
	}
	release, claimed := store.Claim(cfg.Data)
	if claimed != nil {
		return nil, err
	}
	opts.Migrate = true
	books, err = store.Open(ctx, cfg.Data, opts)
	return books, errors.Join(err, release())
}

func ledgerOptions(cfg config.Config) account.Options {
	opts := account.DefaultOptions()
	opts.Plans = cfg.Plans.List()
	return opts
}

func (c *keysCreate) run(ctx context.Context, to streams) error {
	if err := account.ValidateName(c.Account); err != nil {
		return err // before there is a database
	}
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE) // or printing to who has gone would end the process at once
	defer signal.Stop(unread)
	return withLedger(ctx, c.configFlags, c.booksFlags, makes, func(l *account.Ledger) error {
		key, err := l.CreateKey(ctx, c.Account, c.Plan)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(to.out, key.Token); err != nil {
			return withdraw(ctx, l, key.ID, err)
		}
		return nil
	})
}

// withdraw revokes a key that could not be printed: nobody has it, and nobody would miss it.
func withdraw(ctx context.Context, l *account.Ledger, id string, why error) error {
	if _, err := l.RevokeKey(context.WithoutCancel(ctx), id); err != nil {
		return fmt.Errorf("the key %s could not be printed, nor revoked again, which keys revoke does: %w; %w", id, why, err)
	}
	return fmt.Errorf("the key could not be printed, and has been revoked again: %w", why)
}

func (c *keysList) run(ctx context.Context, to streams) error {
	return withLedger(ctx, c.configFlags, c.booksFlags, reads, func(l *account.Ledger) error {
		keys, err := l.ListKeys(ctx)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(table, "ID\tACCOUNT\tPLAN\tCREATED\tREVOKED")
		for _, k := range keys {
			revoked := "-"
			if !k.Revoked.IsZero() {
				revoked = k.Revoked.UTC().Format(time.RFC3339)
			}
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", k.ID, k.Account, k.Plan, k.Created.UTC().Format(time.RFC3339), revoked)
		}
		return table.Flush()
	})
}

func (c *keysPlan) run(ctx context.Context, to streams) error {
	return withLedger(ctx, c.configFlags, c.booksFlags, changes, func(l *account.Ledger) error {
		had, err := l.ChangePlan(ctx, c.Account, c.Plan)
		if errors.Is(err, account.ErrNoAccount) {
			return fmt.Errorf("there is no account %s; keys list shows all", filename.Shown(c.Account))
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(to.out, "Moved account %s from %s to %s.\n", c.Account, had, c.Plan)
		return err
	})
}

func (c *keysRevoke) run(ctx context.Context, to streams) error {
	return withLedger(ctx, c.configFlags, c.booksFlags, changes, func(l *account.Ledger) error {
		key, err := l.RevokeKey(ctx, c.Key)
		if errors.Is(err, account.ErrKeyNotFound) {
			return errors.New("no such key; keys list shows the ids of all keys")
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(to.out, "Revoked key %s of account %s.\n", key.ID, key.Account)
		return err
	})
}
