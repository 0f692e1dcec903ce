package spool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// owner begins the name of an empty file in the folder of parked files, whose rest says
// whose uploads they are. Like the marker it is there whole or not at all.
const owner = marker + "of-"

// Owners lists whose uploads the folder of parked files is for, as Own has said. The
// error matches ErrAway when it is not there.
func (s *Spool) Owners(context.Context) ([]string, error) {
	folder, err := s.folder()
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	list, err := names(folder)
	if err != nil {
		return nil, fmt.Errorf("spool: list parked uploads: %w", err)
	}
	var owners []string
	for _, name := range list {
		if id, ok := strings.CutPrefix(name, owner); ok {
			owners = append(owners, id)
		}
	}
	return owners, nil
}

// Own marks the folder of parked files as id's. It is synced when Own returns nil. The
// error matches ErrAway when the folder is not there.
func (s *Spool) Own(_ context.Context, id string) error {
	folder, err := s.folderFor(owner + id)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	file, err := folder.OpenFile(owner+id, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("spool: mark the folder of parked uploads: %w", full(err))
	}
	dir, err := folder.Open(".")
	if err == nil {
		err = errors.Join(dir.Sync(), dir.Close())
	}
	return errors.Join(err, file.Close())
}
