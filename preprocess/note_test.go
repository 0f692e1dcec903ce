package preprocess

import "testing"

// TestNotesAreOurs: what a child says of a file goes into its report, so that it may
// choose among our notes and write none of its own, nor fill the report with one.
func TestNotesAreOurs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		notes []Note
		fit   bool
	}{
		"none": {nil, true}, "two": {[]Note{SoundUnsupported, Incomplete}, true},
		"its own": {[]Note{"<script>"}, false}, "an empty one": {[]Note{""}, false}, "one twice": {[]Note{OtherSound, OtherSound}, false},
	} {
		reply := DecodeReply{Kind: Video, Frames: []FrameRef{{Width: 1, Height: 1}}, Notes: tc.notes}
		if err := reply.check(DecodeRequest{Format: MP4, Limits: DefaultLimits()}, 4096); (err == nil) != tc.fit {
			t.Errorf("%s: %v", name, err)
		}
	}
}
