package decode

import (
	"bytes"
	"slices"
	"testing"
	"time"
)

// wantStretches holds what every plan of stretches promises, beside the pieces of
// single pictures.
func wantStretches(t *testing.T, packets []packet, single []piece, n, frames, budget int) []stretch {
	t.Helper()
	stretches, list := planStretches(packets, single, n, frames, budget)
	if len(stretches) > n {
		t.Fatalf("%d stretches, want %d at most", len(stretches), n)
	}
	shown := slices.DeleteFunc(showOrder(packets), func(p int) bool { return packets[p].empty })
	end := 0
	for i, s := range stretches {
		at := slices.Index(shown, s.packets[0])
		if len(s.packets) != frames || at < end || !slices.Equal(s.packets, shown[at:at+frames]) {
			t.Errorf("stretch %d is of packets %v, from %d of what is shown on, after %d", i, s.packets, at, end)
		}
		end = at + frames
		if slices.Min(s.packets) < s.from || slices.Max(s.packets) >= s.to || s.from > 0 && !packets[s.from].key {
			t.Errorf("for stretch %v the piece %v is decoded", s.packets, s.piece)
		}
	}
	if more := wantJoined(t, packets, single, stretches, list); more > max(budget, 0) {
		t.Errorf("%d more packets are decoded, %d are allowed", more, budget)
	}
	return stretches
}

// wantJoined checks that pieces are in order, and hold what those of single pictures
// and those of stretches do, and nothing else. It returns how many packets are in them
// for the stretches alone.
func wantJoined(t *testing.T, packets []packet, single []piece, stretches []stretch, list []piece) (more int) {
	t.Helper()
	in := make([]bool, len(packets))
	mark := func(p piece) (marked int) {
		for i := p.from; i < p.to; i++ {
			if !in[i] {
				in[i], marked = true, marked+1
			}
		}
		return marked
	}
	for _, p := range single {
		mark(p)
	}
	for _, s := range stretches {
		more += mark(s.piece)
	}
	end := 0
	for _, p := range list {
		if p.from < end || p.to <= p.from {
			t.Errorf("piece %v after %d", p, end)
		}
		for end = p.from; end < p.to; end++ {
			if !in[end] {
				t.Errorf("packet %d is decoded for nothing", end)
			}
			in[end] = false
		}
	}
	if slices.Contains(in, true) {
		t.Error("what is wanted is not decoded")
	}
	return more
}

// open is a stream of n packets with an open group every gop: two of them are shown
// before the key frame that they come after.
func open(n, gop int) []packet {
	packets := regular(n, gop)
	for i := gop; i+2 < n; i += gop {
		packets[i].at, packets[i+1].at, packets[i+2].at = packets[i+2].at, packets[i].at, packets[i+1].at
	}
	return packets
}

func TestPlanOfStretches(t *testing.T) {
	t.Parallel()
	holed := regular(250, 1)
	for i := range holed {
		holed[i].hidden = i%20 == 10
	}
	voids := regular(250, 50)
	for i := range voids {
		voids[i].empty = i%3 == 2
	}
	for name, tc := range map[string]struct {
		packets []packet
		frames  int
		budget  int
		want    [][3]int // first packet, and the piece of it, of each
	}{
		"all key frames":         {regular(240, 1), 30, 4000, [][3]int{{15, 15, 45}, {75, 75, 105}, {135, 135, 165}, {195, 195, 225}}},
		"key frames in the way":  {regular(240, 12), 30, 4000, [][3]int{{12, 12, 42}, {72, 72, 102}, {132, 132, 162}, {192, 192, 222}}},
		"sparse":                 {regular(240, 50), 30, 4000, [][3]int{{15, 0, 45}, {75, 50, 105}, {150, 150, 180}, {200, 200, 230}}},
		"one key frame":          {regular(240, 240), 30, 4000, [][3]int{{15, 0, 45}, {75, 0, 105}, {135, 0, 165}, {195, 0, 225}}},
		"little to spend":        {regular(240, 240), 30, 200, [][3]int{{15, 0, 45}, {66, 0, 96}}},
		"beyond what is left":    {regular(2400, 2400), 30, 400, [][3]int{{70, 0, 100}}},
		"key frames all the way": {regular(2400, 100), 30, 190, [][3]int{{300, 300, 330}, {900, 900, 930}, {1500, 1500, 1530}, {2100, 2100, 2130}}},
		"just enough":            {regular(240, 1), 30, 120, [][3]int{{15, 15, 45}, {75, 75, 105}, {135, 135, 165}, {195, 195, 225}}},
		"for one":                {regular(240, 1), 30, 45, [][3]int{{195, 195, 225}}},
		"for none":               {regular(240, 1), 30, 29, nil},
		"short":                  {regular(70, 1), 30, 4000, [][3]int{{2, 2, 32}, {37, 37, 67}}},
		"just long enough":       {regular(30, 10), 30, 4000, [][3]int{{0, 0, 30}}},
		"too short":              {regular(29, 1), 30, 4000, nil},
		"nothing":                {nil, 30, 4000, nil},
		"hidden at the start":    {trimmed(125), 30, 4000, [][3]int{{125, 0, 155}, {156, 0, 186}, {187, 0, 217}, {219, 0, 249}}},
		"too much is hidden":     {trimmed(125), 30, 150, nil},
		"damaged everywhere":     {holed, 30, 4000, nil},
		"damaged between":        {holed, 15, 4000, [][3]int{{15, 15, 30}, {75, 75, 90}, {135, 135, 150}, {211, 211, 226}}},
		"packets without any":    {voids, 20, 4000, [][3]int{{15, 0, 44}, {78, 50, 107}, {150, 150, 179}, {204, 200, 233}}},
		"no key frame known":     {regular(241, 1000)[1:], 30, 4000, [][3]int{{15, 0, 45}, {75, 0, 105}, {135, 0, 165}, {195, 0, 225}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got [][3]int
			for _, s := range wantStretches(t, tc.packets, nil, 4, tc.frames, tc.budget) {
				got = append(got, [3]int{s.packets[0], s.from, s.to})
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestStretchOfAnOpenGroup: a stretch that begins with what is shown before a key
// frame, but comes after it, rests on the group before.
func TestStretchOfAnOpenGroup(t *testing.T) {
	t.Parallel()
	packets := open(100, 20)
	keys := keysBefore(packets)
	leading, _ := cutStretch(packets, keys, []int{42, 40, 43}) // 41 is shown first
	if leading.from != 20 || leading.to != 44 {
		t.Errorf("for packets before the key frame %v is decoded", leading.piece)
	}
	behind, _ := cutStretch(packets, keys, []int{40, 43, 44})
	if behind.from != 40 {
		t.Errorf("for packets behind the key frame %v is decoded", behind.piece)
	}
	for i := range packets { // a file that says of all key frames that they are shown last
		packets[i].at -= time.Hour
		if packets[i].key = i%2 == 0; packets[i].key {
			packets[i].at += 2 * time.Hour
		}
	}
	if s, ok := cutStretch(packets, keysBefore(packets), []int{41, 43, 45}); ok {
		t.Errorf("for a stretch without a key frame %v is decoded", s.piece)
	}
}

// TestPlanWithoutStretches: where none are asked for, nothing else is decoded.
func TestPlanWithoutStretches(t *testing.T) {
	t.Parallel()
	packets := regular(1000, 30)
	list := pieces(packets, planFrames(packets, 16, 500))
	if stretches, got := planStretches(packets, list, 0, 0, 4000); !slices.Equal(got, list) || stretches != nil {
		t.Errorf("%v is decoded, want %v", got, list)
	}
}

// TestStretchesOfWhatIsDecodedAnyway cost nothing.
func TestStretchesOfWhatIsDecodedAnyway(t *testing.T) {
	t.Parallel()
	packets := regular(1000, 1000)
	if got := wantStretches(t, packets, []piece{{0, 500}}, 4, 30, 0); len(got) != 2 {
		t.Errorf("stretches %v of 500 packets that are decoded", got)
	}
	if got := wantStretches(t, packets, []piece{{0, 500}}, 4, 30, 60); len(got) != 3 {
		t.Errorf("stretches %v of 500 packets that are decoded and some more", got)
	}
}

// FuzzStretches plans streams as FuzzPlan does.
func FuzzStretches(f *testing.F) {
	f.Add(bytes.Repeat([]byte{0, 40, 0}, 300), 4, 30, 400)
	f.Add(bytes.Repeat([]byte{3, 250, 0, 2, 40, 1, 0, 9, 2}, 90), 4, 2, 60)
	f.Add(bytes.Repeat([]byte{1, 40, 0, 0, 80, 0, 4, 60, 0}, 90), 3, 5, 100)
	f.Fuzz(func(t *testing.T, raw []byte, n, frames, budget int) {
		n, frames, budget = n&0xf, 2+frames&0x1f, budget&0xfff
		packets := make([]packet, 0, len(raw)/3)
		for ; len(raw) >= 3; raw = raw[3:] {
			at := time.Duration(len(packets))*40*time.Millisecond + time.Duration(int8(raw[1]))*time.Millisecond + time.Duration(raw[2])*time.Second
			packets = append(packets, packet{at: at, key: raw[0]&1 != 0, hidden: raw[0]&2 != 0, empty: raw[0]&4 != 0})
		}
		wantStretches(t, packets, nil, n, frames, budget)
		wantStretches(t, packets, pieces(packets, planFrames(packets, n+1, max(budget, n+1))), n, frames, budget)
	})
}
