package decode

// mixLost is how much of the power of channels that have nothing in common must
// be left in their mean: less means that they are each other's opposite, as
// behind a cable with two wires swapped.
const mixLost = 0.1

// mixer brings the channels of a sound to one, their mean, and measures what
// gets lost by it.
type mixer struct {
	only  int                     // the channel that is taken alone, from 1; 0 takes all
	mean  float64                 // power of the mean
	apart float64                 // what it would be of channels that have nothing in common
	power [wavMaxChannels]float64 // of each channel
}

// Mix is what becomes of one sample of each channel.
func (m *mixer) Mix(channels []float64) float64 {
	n := len(channels)
	if m.only > 0 && m.only <= n {
		return channels[m.only-1]
	}
	var sum, squares float64
	for c, x := range channels {
		sum += x
		squares += x * x
		m.power[c] += x * x
	}
	mean := sum / float64(n)
	m.mean += mean * mean
	m.apart += squares / float64(n*n)
	return mean
}

// MixAll mixes the channels of one sample after the other into mono.
func (m *mixer) MixAll(mono []float32, levels []float64, channels int) {
	if channels == 2 && m.only == 0 {
		m.mixPairs(mono, levels)
		return
	}
	for i := range mono {
		mono[i] = float32(m.Mix(levels[i*channels : (i+1)*channels]))
	}
}

// mixPairs is MixAll for two channels, which most sounds have: what Mix adds up in
// memory stays in registers.
func (m *mixer) mixPairs(mono []float32, levels []float64) {
	mean, apart, left, right := m.mean, m.apart, m.power[0], m.power[1]
	for i := range mono {
		x, y := levels[2*i], levels[2*i+1]
		level := (x + y) / 2
		mono[i] = float32(level)
		mean += level * level
		apart += (x*x + y*y) / 4
		left += x * x
		right += y * y
	}
	m.mean, m.apart, m.power[0], m.power[1] = mean, apart, left, right
}

// Lost tells whether the channels have cancelled each other out.
func (m *mixer) Lost() bool { return m.only == 0 && m.mean < mixLost*m.apart }

// Loudest is a mixer that takes the loudest channel alone.
func (m *mixer) Loudest() mixer {
	best := 0
	for c, p := range m.power {
		if p > m.power[best] {
			best = c
		}
	}
	return mixer{only: best + 1}
}
