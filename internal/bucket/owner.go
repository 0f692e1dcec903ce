package bucket

import (
	"context"
	"strings"
)

// owner begins the name of an object whose rest says whose uploads the others are. No
// upload has such a name.
const owner = "deepfaked-of-"

// Owners lists whose uploads the bucket is for, as Own has said. The error matches
// spool.ErrAway unless ctx has ended.
func (b *Bucket) Owners(ctx context.Context) ([]string, error) {
	marks, err := b.list(ctx, owner)
	if err != nil {
		return nil, err
	}
	owners := make([]string, len(marks))
	for i, o := range marks {
		owners[i] = strings.TrimPrefix(o.Key, owner)
	}
	return owners, nil
}

// Own marks the bucket as id's. The error matches spool.ErrAway unless ctx has ended.
func (b *Bucket) Own(ctx context.Context, id string) error {
	within, cancel := context.WithTimeoutCause(ctx, b.stall, errStalled)
	defer cancel()
	text := "Uploads wait here for the deepfaked service whose database has this mark.\n"
	if err := b.write(within, owner+id, []byte(text)); err != nil {
		return away(ctx, "mark the bucket", err, context.Cause(within))
	}
	return nil
}
