package preprocess_test

import (
	"encoding/binary"
	"os"
	"slices"

	"deepfaked/internal/sandbox"
	"deepfaked/preprocess"
)

// windowRef is that of window i of a child that writes one after the other.
func windowRef(req preprocess.DecodeRequest, i int) preprocess.WindowRef {
	page := int64(os.Getpagesize())
	room := (int64(req.Limits.Samples)*preprocess.SampleBytes + page - 1) / page * page
	return preprocess.WindowRef{Offset: int64(i) * room, Samples: req.Limits.Samples}
}

// writeWindow fills window i with a level.
func writeWindow(req preprocess.DecodeRequest, output *os.File, i int, level uint16) preprocess.WindowRef {
	ref := windowRef(req, i)
	if err := output.Truncate(windowRef(req, i+1).Offset); err != nil {
		panic(err)
	}
	sample := binary.NativeEndian.AppendUint16(nil, level)
	if _, err := output.WriteAt(slices.Repeat(sample, ref.Samples), ref.Offset); err != nil {
		panic(err)
	}
	return ref
}

// tellEarly writes window i, of level i, and tells of it.
func tellEarly(conn *sandbox.Conn, req preprocess.DecodeRequest, output *os.File, i int) preprocess.WindowRef {
	ref := writeWindow(req, output, i, uint16(i))
	reply(conn, preprocess.DecodeReply{ID: req.ID, Early: true, Windows: []preprocess.WindowRef{ref}})
	return ref
}

// actEarly tells of windows early, and then does what the mode says.
func actEarly(mode string, conn *sandbox.Conn, req preprocess.DecodeRequest, output *os.File) {
	good := preprocess.DecodeReply{ID: req.ID, Kind: preprocess.Audio, Format: "WAV"}
	tell := func(refs ...preprocess.WindowRef) {
		reply(conn, preprocess.DecodeReply{ID: req.ID, Early: true, Windows: refs})
	}
	first := tellEarly(conn, req, output, 0)
	second := tellEarly(conn, req, output, 1)
	// What the server may be reading cannot be taken from under it.
	if output.Truncate(0) == nil {
		good.Format = "shrunk"
	}
	switch mode {
	case "early-sound":
		third := writeWindow(req, output, 2, 2)
		good.Windows = []preprocess.WindowRef{first, second, third}
	case "early-other":
		good.Windows = []preprocess.WindowRef{first, writeWindow(req, output, 2, 9)}
	case "early-outside":
		tell(windowRef(req, 2))
	case "early-nothing":
		tell()
	case "early-many":
		tell(slices.Repeat([]preprocess.WindowRef{first}, req.Limits.Windows)...)
	}
	reply(conn, good)
}
