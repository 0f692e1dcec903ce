package bucket

import (
	"context"
	"errors"
	"io"

	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"

	"deepfaked/internal/spool"
)

// mediaType is what objects are said to be. Nobody reads it.
const mediaType = "application/octet-stream"

// chunk is how much of a file the clients of Google and Azure hold at a time.
// Nothing is seen to move while one is on its way, so that a store as slow as
// 70 kB/s is not taken to be away.
const chunk = 4 << 20

// Park stores the file as an object. When it returns nil the store has confirmed
// all of it. The file stays open and can be read on. The error matches
// spool.ErrAway unless ctx has ended. Of an object that is cut off the store keeps nothing; one
// of which only the answer was lost is there.
func (b *Bucket) Park(ctx context.Context, name string, f *spool.File) error {
	file, err := f.Rewind()
	if err != nil {
		return err
	}
	within, beat, stop := b.watch(ctx)
	defer stop()
	body := upload{io.NewSectionReader(file, 0, f.Size()), beat}
	if client := (*s3.Client)(nil); b.blobs.As(&client) {
		err = b.put(within, client, name, body)
	} else {
		err = b.blobs.Upload(within, name, body, &blob.WriterOptions{ContentType: mediaType, BufferSize: chunk, MaxConcurrency: 1})
	}
	if err != nil {
		return away(ctx, "store an upload", err, context.Cause(within))
	}
	return nil
}

// upload says whenever a part of it is read.
type upload struct {
	io.ReadSeeker

	beat func()
}

// Read implements io.Reader.
func (u upload) Read(p []byte) (int, error) {
	u.beat()
	return u.ReadSeeker.Read(p)
}

// put sends the file to S3 in one request, which takes up to 5 GB, and reads it
// as it is sent. gocloud.dev would hold 64 MiB of it in memory, and send parts: those
// of an upload that is broken off stay in the bucket, where no list shows them.
func (b *Bucket) put(ctx context.Context, client *s3.Client, name string, body io.ReadSeeker) error {
	to, err := b.target(ctx, name)
	if err != nil {
		return err
	}
	_, err = client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: to.Bucket, Key: to.Key, ContentType: to.ContentType, Body: body,
		ServerSideEncryption: types.ServerSideEncryption(to.ServerSideEncryption), SSEKMSKeyId: to.SSEKMSKeyID,
	})
	return err
}

// errOnlyAsked keeps gocloud.dev from writing.
var errOnlyAsked = errors.New("nothing is written")

// target is where gocloud.dev would write an object of S3 and how, by the bucket's
// URL: under which prefix, and how encrypted.
func (b *Bucket) target(ctx context.Context, name string) (to *transfermanager.UploadObjectInput, err error) {
	_, err = b.blobs.NewWriter(ctx, name, &blob.WriterOptions{ContentType: mediaType, BeforeWrite: func(as func(any) bool) error {
		as(&to)
		return errOnlyAsked
	}})
	if to == nil {
		return nil, err
	}
	return to, nil
}
