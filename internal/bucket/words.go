package bucket

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
	"gocloud.dev/blob"

	"deepfaked/internal/redact"
)

// words are those of the client of S3, which it would write to standard error in a form of its
// own.
type words struct{ logger *slog.Logger }

// Logf implements the client's interface.
func (w words) Logf(level logging.Classification, format string, args ...any) {
	at := slog.LevelDebug
	if level == logging.Warn {
		at = slog.LevelWarn
	}
	w.logger.Log(context.Background(), at, "the client of S3", "says", redact.Text(fmt.Sprintf(format, args...)))
}

// listen has what the client of S3 says, and what finds its credentials, go to the log.
// gocloud.dev makes the client of what the address says and takes no other, so that one is made
// in its place.
func listen(ctx context.Context, address string, blobs *blob.Bucket, logger *slog.Logger) error {
	var client *s3.Client
	if !blobs.As(&client) {
		return nil
	}
	found, err := credentials(ctx, address, words{logger})
	if err != nil {
		return err
	}
	*client = *s3.New(client.Options(), func(o *s3.Options) {
		o.Logger = words{logger}
		if found != nil {
			o.Credentials = found
		}
	})
	return nil
}

// credentials are found as gocloud.dev finds them, but that what looks for them is heard; nil where
// requests are anonymous.
func credentials(ctx context.Context, address string, logger words) (aws.CredentialsProvider, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	query := u.Query()
	says := func(word string) bool { yes, _ := strconv.ParseBool(query.Get(word)); return yes }
	if says("anonymous") {
		return nil, nil //nolint:nilnil // as it says
	}
	opts := []func(*config.LoadOptions) error{
		config.WithLogger(logger), config.WithRegion(query.Get("region")), config.WithSharedConfigProfile(query.Get("profile")),
	}
	if says("dualstack") {
		opts = append(opts, config.WithUseDualStackEndpoint(aws.DualStackEndpointStateEnabled))
	}
	if says("fips") {
		opts = append(opts, config.WithUseFIPSEndpoint(aws.FIPSEndpointStateEnabled))
	}
	cfg, err := config.LoadDefaultConfig(ctx, opts...)
	role := query.Get("role")
	if err != nil || role == "" {
		return cfg.Credentials, err
	}
	return aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), role)), nil
}
