package decode

import "errors"

// decodeWAV decodes sound that go-audio/wav reads.
func decodeWAV(Source, *Arena) (Found, error) { return Found{}, errors.New("not built in yet") }

// decodeContainer decodes what FFmpeg reads.
func decodeContainer(Source, *Arena) (Found, error) { return Found{}, errors.New("not built in yet") }
