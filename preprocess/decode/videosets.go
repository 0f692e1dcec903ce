package decode

// inBand are the parameter sets of settings of H.264 or H.265 as they go before a picture in a packet.
// They are not ok unless these tell the lengths of their units in as many bytes as the stream's own do;
// with none, the settings are units themselves.
func inBand(settings []byte, own, prefix int, sets func([]byte) [][]byte) (units []byte, ok bool) {
	if own != prefix || prefix == 0 {
		return settings, own == prefix
	}
	for _, set := range sets(settings) {
		if len(set)>>(8*prefix) > 0 {
			return nil, false
		}
		for i := prefix - 1; i >= 0; i-- {
			units = append(units, byte(len(set)>>(8*i)))
		}
		units = append(units, set...)
	}
	return units, true
}

// h264Sets are the parameter sets of settings of H.264: ISO/IEC 14496-15, 5.3.3.1.
func h264Sets(settings []byte) (sets [][]byte) {
	rest := settings[5:]
	for _, mask := range []byte{0x1f, 0xff} {
		if len(rest) == 0 {
			break
		}
		var some [][]byte
		some, rest = takeSets(rest[1:], int(rest[0]&mask))
		sets = append(sets, some...)
	}
	return sets
}

// h265Sets are those of H.265: 8.3.3.1.
func h265Sets(settings []byte) (sets [][]byte) {
	rest := settings[22:]
	if len(rest) == 0 {
		return nil
	}
	kinds := int(rest[0])
	rest = rest[1:]
	for ; kinds > 0 && len(rest) >= 3; kinds-- {
		var some [][]byte
		some, rest = takeSets(rest[3:], int(rest[1])<<8|int(rest[2]))
		sets = append(sets, some...)
	}
	return sets
}

// takeSets takes so many sets off data, each with its length before it.
func takeSets(data []byte, count int) (sets [][]byte, rest []byte) {
	for ; count > 0 && len(data) >= 2; count-- {
		end := 2 + (int(data[0])<<8 | int(data[1]))
		if end > len(data) {
			return sets, nil
		}
		sets, data = append(sets, data[2:end]), data[end:]
	}
	return sets, data
}
