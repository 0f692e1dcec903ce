package decode

import (
	"slices"
	"testing"
)

// TestReadH264 reads units with a length before them, and behind start codes.
func TestReadH264(t *testing.T) {
	t.Parallel()
	other := append([]byte{6, 5, 255, 45}, make([]byte, 300)...)
	point := []byte{6, 6, 3, 0b00010001, 0, 0, 3, 0b10000000} // seven pictures, and a byte that is left out
	both := slices.Concat(other, point[1:])
	slice, key, parts, plain := []byte{0x41, 0x98}, []byte{0x65, 1}, []byte{0x22, 0x98}, []byte{1, 0x88}
	for name, tc := range map[string]struct {
		units [][]byte
		want  h264Picture
	}{
		"refresh":         {[][]byte{{9, 0x10}, point, slice}, h264Picture{7, true, true, false, false, false}},
		"with other":      {[][]byte{both, slice}, h264Picture{7, true, true, false, false, false}},
		"nothing of it":   {[][]byte{other, slice}, h264Picture{0, true, true, false, false, false}},
		"key":             {[][]byte{point, key}, h264Picture{0, true, false, true, true, false}},
		"settings":        {[][]byte{{0x67, 77}, {0x68, 1}, slice}, h264Picture{0, true, true, true, false, true}},
		"in parts":        {[][]byte{parts}, h264Picture{0, true, true, false, false, false}},
		"rests none":      {[][]byte{plain, point}, h264Picture{0, false, false, false, false, false}},
		"too long":        {[][]byte{{6, 6, 9, 0x80}, plain}, h264Picture{0, false, false, false, false, false}},
		"cut":             {[][]byte{{6, 255}, {6}, plain}, h264Picture{0, false, false, false, false, false}},
		"more than large": {[][]byte{{6, 6, 3, 0, 0, 0x80}, plain}, h264Picture{1 << 16, false, false, false, false, false}},
		"further on":      {[][]byte{{1, 0b00110_000, 0b10001_000}}, h264Picture{0, false, false, false, false, false}},
		"none":            {nil, h264Picture{}},
	} {
		for prefix := range 5 {
			var packet []byte
			for _, u := range tc.units {
				switch prefix {
				case 0:
					packet = append(append(packet, 0, 0, 0, 1), u...)
				case 1:
					if len(u) > 255 {
						u = u[:255]
					}
					packet = append(append(packet, byte(len(u))), u...)
				default:
					packet = append(append(packet, make([]byte, prefix-2)...), byte(len(u)>>8), byte(len(u)))
					packet = append(packet, u...)
				}
			}
			if got := readH264(packet, prefix); got != tc.want && (prefix != 1 || name != "with other") {
				t.Errorf("%s, %d bytes of length: %+v, want %+v", name, prefix, got, tc.want)
			}
		}
	}
}

// TestPlanOfAFilmWithoutKeyFrames: a place to start at at which no picture is whole is none to
// take a picture from, nor are those that follow before it is.
func TestPlanOfAFilmWithoutKeyFrames(t *testing.T) {
	t.Parallel()
	packets, refreshed := regular(0, 1), refresh{}
	for i := range 2000 {
		p := packet{at: regular(i+1, 1)[i].at, key: i%250 == 0}
		pic := h264Picture{reference: i%2 == 0}
		if p.key && i > 0 {
			pic.after = 30
		}
		refreshed.follow(packets, &p, pic)
		packets = append(packets, p)
	}
	for _, budget := range []int{1 << 20, 2000, 500} {
		targets := planFrames(packets, 16, budget)
		if budget > 500 && len(targets) != 16 || len(targets) == 0 {
			t.Errorf("of %d packets: %d targets", budget, len(targets))
		}
		wantSoundPlan(t, packets, targets, 16, budget)
		for _, target := range targets {
			if from := packets[target.from]; target.packet-target.from < from.after || target.from > 0 && from.after != 94 {
				t.Errorf("target %+v, from a packet with %+v", target, from)
			}
		}
	}
	stretches := wantStretches(t, packets, nil, 4, 30, 4000)
	for _, s := range stretches {
		if slices.Min(s.packets)-s.from < packets[s.from].after {
			t.Errorf("stretch %+v", s)
		}
	}
	if len(stretches) != 4 {
		t.Errorf("%d stretches", len(stretches))
	}
}
