package decode

import (
	"bytes"
	"math"
	"testing"
	"time"
)

// regular is a stream of n packets, 40 ms apart, with a key frame every gop.
func regular(n, gop int) []packet {
	packets := make([]packet, n)
	for i := range packets {
		packets[i] = packet{at: time.Duration(i) * 40 * time.Millisecond, key: i%gop == 0}
	}
	return packets
}

func TestPlanSpreadsOverTheLength(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		packets []packet
		n       int
		want    int
	}{
		"all key frames":     {regular(250, 1), 16, 16},
		"one key frame":      {regular(250, 250), 16, 16},
		"usual":              {regular(15_000, 250), 16, 16},
		"fewer than wanted":  {regular(5, 250), 16, 5},
		"one":                {regular(1, 1), 16, 1},
		"as many as wanted":  {regular(16, 4), 16, 16},
		"one wanted":         {regular(250, 250), 1, 1},
		"no key frame known": {regular(100, 1000)[1:], 8, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			targets := planFrames(tc.packets, tc.n, 1<<20)
			if len(targets) != tc.want {
				t.Fatalf("%d targets", len(targets))
			}
			stretch := float64(len(tc.packets)) / float64(tc.want)
			for i, target := range targets {
				middle := (float64(i) + 0.5) * stretch
				if math.Abs(float64(target.packet)-middle) > stretch/2+1 {
					t.Errorf("target %d is packet %d, far from %v", i, target.packet, middle)
				}
			}
		})
	}
}

// TestPlanAvoidsTheOpening: the first picture of a video is often black.
func TestPlanAvoidsTheOpening(t *testing.T) {
	t.Parallel()
	if got := planFrames(regular(250, 250), 1, 1000)[0].packet; got != 125 {
		t.Fatalf("took packet %d", got)
	}
}

func TestPlanStaysWithinTheBudget(t *testing.T) {
	t.Parallel()
	for _, gop := range []int{1, 30, 1000, 50_000} {
		packets := regular(50_000, gop)
		targets := planFrames(packets, 16, 3000)
		cost, seen := 0, map[int]bool{}
		for _, p := range pieces(packets, targets) {
			cost += p.to - p.from
		}
		for _, target := range targets {
			seen[target.packet] = true
		}
		if cost > 3000+16*hiddenTail || len(seen) != 16 {
			t.Errorf("key frames every %d: %d packets for %d pictures", gop, cost, len(seen))
		}
	}
}

// trimmed is a stream of 250 packets with one key frame, of which the first are
// hidden: what cutting a video without coding it anew leaves.
func trimmed(first int) []packet {
	const n = 250
	packets := regular(n, n)
	for i := range packets {
		packets[i].at -= time.Duration(first) * 40 * time.Millisecond
		packets[i].hidden = i < first
	}
	return packets
}

// TestPlanOfATrimmedVideo: where the budget was short, pictures were taken from
// packets that are hidden, at times before the start, which ended the decoder.
func TestPlanOfATrimmedVideo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		packets []packet
		budget  int
		want    int
	}{
		"all affordable":        {trimmed(125), 250, 16},
		"some affordable":       {trimmed(125), 200, 16},
		"few affordable":        {trimmed(125), 130, 16},
		"none within the share": {trimmed(125), 40, 16},
		"one in reach":          {trimmed(125), 31, 0},
		"out of reach":          {trimmed(240), 20, 0},
		"fewer than wanted":     {trimmed(245), 100, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			targets := planFrames(tc.packets, 16, tc.budget)
			if len(targets) != tc.want {
				t.Fatalf("%d targets, want %d", len(targets), tc.want)
			}
			wantSoundPlan(t, tc.packets, targets, 16, tc.budget)
		})
	}
}

// wantSoundPlan holds what every plan promises.
func wantSoundPlan(t *testing.T, packets []packet, targets []target, n, budget int) {
	t.Helper()
	seen := map[int]bool{}
	for i, target := range targets {
		p := packets[target.packet]
		if p.hidden || seen[target.packet] || target.at != p.at || target.from > target.packet {
			t.Errorf("target %+v is packet %+v", target, p)
		}
		seen[target.packet] = true
		if i > 0 && target.from == targets[i-1].from && target.at < targets[i-1].at {
			t.Errorf("target %+v comes after %+v", target, targets[i-1])
		}
	}
	list, cost, end := pieces(packets, targets), 0, 0
	for _, p := range list {
		if p.from < end || p.to <= p.from || p.to > len(packets) {
			t.Errorf("piece %+v of %d packets, after %d", p, len(packets), end)
		}
		cost, end = cost+p.to-p.from, p.to
	}
	if most := max(budget, n)*(1+hiddenRoom) + n*(1+hiddenTail); cost > most {
		t.Errorf("%d packets are decoded, %d are allowed", cost, most)
	}
	for _, target := range targets {
		if part := list[pieceOf(list, target.packet)]; target.packet < part.from || target.packet >= part.to {
			t.Errorf("target %+v in %+v", target, part)
		}
	}
}

// FuzzPlan plans streams in which every third byte says how a packet is.
func FuzzPlan(f *testing.F) {
	f.Add([]byte{1, 40, 0, 0, 40, 0, 2, 40, 0}, 16, 100)
	f.Add(bytes.Repeat([]byte{3, 250, 0, 2, 40, 1, 0, 9, 2}, 90), 4, 11)
	f.Add(bytes.Repeat([]byte{2, 40, 0}, 300), 16, 20)
	// A picture that is shown before its key frame was out of reach, and the key frame, which another target had,
	// was judged in its place once more.
	f.Add([]byte("00010\x0200\x0010000700C0"), 4, 11)
	f.Fuzz(func(t *testing.T, raw []byte, n, budget int) {
		n, budget = 1+n&0x1f, budget&0xffff
		budget = max(budget, n)
		packets := make([]packet, 0, len(raw)/3)
		for ; len(raw) >= 3; raw = raw[3:] {
			at := time.Duration(int8(raw[1]))*time.Millisecond + time.Duration(raw[2])*time.Second
			packets = append(packets, packet{at: at, key: raw[0]&1 != 0, hidden: raw[0]&2 != 0})
		}
		targets := planFrames(packets, n, budget)
		if len(targets) > n {
			t.Fatalf("%d targets", len(targets))
		}
		wantSoundPlan(t, packets, targets, n, budget)
	})
}

// TestPlanFillsVacancies: of a film with a pause one picture was judged in place of 16, since
// the same one is shown at most times.
func TestPlanFillsVacancies(t *testing.T) {
	t.Parallel()
	pause := func(gop int) []packet {
		packets := regular(150, gop)
		for i := 76; i < len(packets); i++ {
			packets[i].at += 10 * time.Minute
		}
		return packets
	}
	for _, gop := range []int{1, 10, 250} {
		packets := pause(gop)
		for _, budget := range []int{1000, 60, 16} {
			targets := planFrames(packets, 16, budget)
			wantSoundPlan(t, packets, targets, 16, budget)
			early := 0
			for _, target := range targets {
				if target.packet < 76 {
					early++
				}
			}
			if len(targets) != 16 || budget == 1000 && (early < 6 || early > 10) {
				t.Errorf("key frames every %d, a budget of %d: %d targets, %d before the pause", gop, budget, len(targets), early)
			}
		}
	}
}

func TestPlanWithOddTimes(t *testing.T) {
	t.Parallel()
	gap := regular(100, 10) // a still of a minute after two seconds
	for i := 50; i < 100; i++ {
		gap[i].at += time.Minute
	}
	reordered := regular(100, 25)
	for i := 1; i+1 < 100; i += 2 {
		reordered[i].at, reordered[i+1].at = reordered[i+1].at, reordered[i].at
	}
	hidden := regular(100, 25)
	for i := 0; i < 100; i += 2 {
		hidden[i].hidden = true
	}
	same := make([]packet, 50)
	for name, packets := range map[string][]packet{"gap": gap, "reordered": reordered, "hidden": hidden, "same": same} {
		targets := planFrames(packets, 16, 1<<20)
		list := pieces(packets, targets)
		seen := map[int]bool{}
		for _, target := range targets {
			part := list[pieceOf(list, target.packet)]
			if seen[target.packet] || packets[target.packet].hidden || target.packet < part.from || target.packet >= part.to {
				t.Errorf("%s: target %+v in %+v", name, target, part)
			}
			seen[target.packet] = true
		}
		if len(targets) != 16 {
			t.Errorf("%s: %d targets", name, len(targets))
		}
	}
	if got := planFrames(nil, 16, 100); len(got) != 0 {
		t.Errorf("%d targets of nothing", len(got))
	}
}

func TestOrdinalOf(t *testing.T) {
	t.Parallel()
	list := []piece{{0, 3}, {10, 11}, {20, 25}}
	for n, want := range []int{0, 1, 2, 10, 20, 21, 22, 23, 24, -1, -1} {
		if got := ordinalOf(list, n); got != want {
			t.Errorf("number %d is packet %d, want %d", n, got, want)
		}
	}
	for ordinal, want := range map[int]int{0: 0, 2: 0, 10: 1, 20: 2, 24: 2} {
		if got := pieceOf(list, ordinal); got != want {
			t.Errorf("packet %d in piece %d, want %d", ordinal, got, want)
		}
	}
}
