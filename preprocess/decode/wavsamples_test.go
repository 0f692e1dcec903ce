package decode

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
)

// wavKind is a way to write a sample.
type wavKind struct {
	name string
	tag  int
	bits int
	put  func(b []byte, x float64) []byte
}

// wavKinds are all ways that are read.
func wavKinds() []wavKind {
	toALaw, toMuLaw := compressor(aLaw), compressor(muLaw)
	return []wavKind{
		{"PCM 8", wavPCM, 8, func(b []byte, x float64) []byte { return append(b, byte(math.Round(x*127)+128)) }},
		{"PCM 16", wavPCM, 16, func(b []byte, x float64) []byte {
			return binary.LittleEndian.AppendUint16(b, uint16(int16(math.Round(x*32767))))
		}},
		{"PCM 24", wavPCM, 24, func(b []byte, x float64) []byte {
			v := uint32(int32(math.Round(x * 8388607)))
			return append(b, byte(v), byte(v>>8), byte(v>>16))
		}},
		{"PCM 32", wavPCM, 32, func(b []byte, x float64) []byte {
			return binary.LittleEndian.AppendUint32(b, uint32(int32(math.Round(x*2147483647))))
		}},
		{"float 32", wavFloat, 32, func(b []byte, x float64) []byte {
			return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
		}},
		{"float 64", wavFloat, 64, func(b []byte, x float64) []byte {
			return binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}},
		{"A-law", wavALaw, 8, func(b []byte, x float64) []byte { return append(b, companded(toALaw, x)) }},
		{"µ-law", wavMuLaw, 8, func(b []byte, x float64) []byte { return append(b, companded(toMuLaw, x)) }},
	}
}

// compressor lists, for 2001 levels from -1 to 1, the byte whose level is
// closest.
func compressor(expand func(byte) float64) []byte {
	table := make([]byte, 2001)
	for i := range table {
		x, best := float64(i-1000)/1000, 0
		for b := range 256 {
			if math.Abs(expand(byte(b))-x) < math.Abs(expand(byte(best))-x) {
				best = b
			}
		}
		table[i] = byte(best)
	}
	return table
}

func companded(table []byte, x float64) byte { return table[int(math.Round(x*1000))+1000] }

// tone is a sine of 440 Hz at half of full scale.
func tone(n, rate int) float64 { return 0.5 * math.Sin(2*math.Pi*440*float64(n)/float64(rate)) }

// toneWAV is a file of frames samples of the tone in all channels.
func toneWAV(k wavKind, channels, rate, frames int, wide bool) []byte {
	var data []byte
	for n := range frames {
		start := len(data)
		data = k.put(data, tone(n, rate))
		one := data[start:]
		for range channels - 1 {
			data = append(data, one...)
		}
	}
	head := format(k.tag, channels, rate, k.bits)
	if wide {
		head = extensible(k.tag, channels, rate, k.bits, wavGUID)
	}
	return riff("RIFF", head, riffChunk("data", uint32(len(data)), data))
}

func TestWAVSamples(t *testing.T) {
	t.Parallel()
	for _, k := range wavKinds() {
		for _, channels := range []int{1, 2, 6} {
			for _, wide := range []bool{false, true} {
				t.Run(k.name, func(t *testing.T) {
					t.Parallel()
					file := toneWAV(k, channels, 8000, 1601, wide)
					s, err := parseWAV(bytes.NewReader(file), int64(len(file)))
					if err != nil {
						t.Fatal(err)
					}
					got := readAll(t, file, s)
					tolerance := 0.02 // of the logarithmic codes, at half scale
					if k.bits > 8 {
						tolerance = 0.0001
					} else if k.tag == wavPCM {
						tolerance = 0.01
					}
					if len(got) != 1601 {
						t.Fatalf("%d samples", len(got))
					}
					for n, x := range got {
						if math.Abs(float64(x)-tone(n, 8000)) > tolerance {
							t.Fatalf("sample %d is %v, want %v", n, x, tone(n, 8000))
						}
					}
				})
			}
		}
	}
}

func TestWAVMeanOfChannels(t *testing.T) {
	t.Parallel()
	data := []byte{0, 0x40, 0, 0xC0, 0, 0x40, 0, 0x20} // +0.5 and -0.5, then +0.5 and +0.25
	file := riff("RIFF", format(wavPCM, 2, 8000, 16), riffChunk("data", 8, data))
	s, err := parseWAV(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, file, s); got[0] != 0 || got[1] != 0.375 {
		t.Fatalf("got %v", got)
	}
}

// TestG711 holds the expansion against values of ITU-T G.711, in 16 bits.
func TestG711(t *testing.T) {
	t.Parallel()
	for b, want := range map[byte]float64{0x00: -32124, 0x80: 32124, 0x7F: 0, 0xFF: 0, 0x0F: -16764, 0x8F: 16764, 0x55: -716} {
		if got := muLaw(b) * 32768; got != want {
			t.Errorf("µ-law %#x is %v, want %v", b, got, want)
		}
	}
	for b, want := range map[byte]float64{0x55: -8, 0xD5: 8, 0x2A: -32256, 0xAA: 32256, 0x00: -5504, 0x80: 5504} {
		if got := aLaw(b) * 32768; got != want {
			t.Errorf("A-law %#x is %v, want %v", b, got, want)
		}
	}
}

func TestWAVFloatsThatAreNoLevels(t *testing.T) {
	t.Parallel()
	var data []byte
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 7, -7, 1e308, 0.25} {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
	}
	file := riff("RIFF", format(wavFloat, 1, 8000, 64), riffChunk("data", uint32(len(data)), data))
	s, err := parseWAV(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	want := []float32{0, 0, 0, 7, -7, 256, 0.25}
	for i, x := range readAll(t, file, s) {
		if x != want[i] {
			t.Errorf("sample %d is %v, want %v", i, x, want[i])
		}
	}
}

// TestWAVBomb is the 52-byte file that makes go-audio/wav allocate 1 GB when it
// is given the file itself: a LIST chunk that says it is as long as that.
func TestWAVBomb(t *testing.T) {
	bomb := riff("RIFF", format(1, 1, 8000, 16), riffChunk("LIST", 0x40000000, []byte("INFOINAM")))[:52]
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := parseWAV(bytes.NewReader(bomb), int64(len(bomb))); err == nil {
		t.Fatal("the bomb passes")
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<16 {
		t.Fatalf("refusing 52 bytes took %d bytes", grown)
	}
}

// noise is n random bytes, with the extremes of 16 bits at both ends and in between.
func noise(n int) []byte {
	random := rand.New(rand.NewPCG(7, uint64(n)))
	raw := make([]byte, n)
	for i := range raw {
		raw[i] = byte(random.Uint32())
	}
	for i, x := range []int16{math.MinInt16, math.MinInt16 + 1, -1, 0, 1, math.MaxInt16} {
		for _, at := range []int{2 * i, (n/2)&^1 + 2*i, n&^1 - 2*i - 2} {
			if at >= 0 && at+2 <= n {
				binary.LittleEndian.PutUint16(raw[at:], uint16(x))
			}
		}
	}
	return raw
}

// TestIntegersInHalfThePrecision: levels of one channel used to be calculated in 64
// bits and then rounded to 32. They are calculated in 32, which must be the same.
func TestIntegersInHalfThePrecision(t *testing.T) {
	t.Parallel()
	for width := 1; width <= 4; width++ {
		for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 1001, wavBlock} {
			raw := noise(width * n)
			narrow, wide := make([]float32, n), make([]float64, n)
			integers(narrow, raw, width)
			integers(wide, raw, width)
			for i, x := range wide {
				if math.Float32bits(narrow[i]) != math.Float32bits(float32(x)) || width == 2 && x != levelOf(raw[2*i:]) {
					t.Fatalf("%d bytes: sample %d of %d is %v in 32 bits and %v in 64", width, i, n, narrow[i], x)
				}
			}
		}
	}
}

// levelOf is the level of one sample of 16 bits.
func levelOf(raw []byte) float64 { return float64(int16(binary.LittleEndian.Uint16(raw))) / fullScale }
