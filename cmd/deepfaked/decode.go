package main

import (
	"context"

	"deepfaked/preprocess/decode"
)

// decodeCommand is the life of a decoder child. It is started by the service
// alone, with a socket to it, and never by people.
type decodeCommand struct{}

func (*decodeCommand) run(context.Context, streams) error { return decode.Main() }
