package decode

// luma is how much red and blue count in the brightness of a picture; the rest is green.
type luma struct{ red, blue float64 }

// undeclared is BT.601, by which pictures are converted whose stream says nothing else.
var undeclared = luma{red: 0.299, blue: 0.114}

// lumas are the others that a stream may declare, by their numbers: ITU-T H.273, table 4. Those
// that no such sum describes, as of constant luminance, are left as they are.
var lumas = map[int]luma{
	1: {red: 0.2126, blue: 0.0722}, // BT.709
	4: {red: 0.30, blue: 0.11},     // FCC
	7: {red: 0.212, blue: 0.087},   // SMPTE 240M
	9: {red: 0.2627, blue: 0.0593}, // BT.2020
}

// inPlaceOf is the matrix that turns blue, green and red as converted by another luma into what
// they are by l: a row for each. The range plays no part, it is the same on either way.
func (l luma) inPlaceOf(other luma) [3][3]float64 {
	var rows [3][3]float64
	for column := range 3 {
		var unit [3]float64
		unit[column] = 1
		for row, value := range l.join(other.split(unit)) {
			rows[row][column] = value
		}
	}
	return rows
}

// split is the brightness of blue, green and red, and how far blue and red differ from it.
func (l luma) split(bgr [3]float64) (y, cb, cr float64) {
	y = l.blue*bgr[0] + (1-l.red-l.blue)*bgr[1] + l.red*bgr[2]
	return y, (bgr[0] - y) / (2 * (1 - l.blue)), (bgr[2] - y) / (2 * (1 - l.red))
}

// join is what split has split.
func (l luma) join(y, cb, cr float64) [3]float64 {
	blue, red := y+2*(1-l.blue)*cb, y+2*(1-l.red)*cr
	return [3]float64{blue, (y - l.blue*blue - l.red*red) / (1 - l.red - l.blue), red}
}
