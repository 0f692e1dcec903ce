//go:build gocv_specific_modules

package decode

/*
#include <libavformat/avformat.h>
*/
import "C"

import (
	_ "embed" // a clip
	"fmt"
	"os"
	"sync"

	"gocv.io/x/gocv"
	"golang.org/x/sys/unix"
)

// colours puts the colours of a video right where OpenCV has converted them by another matrix
// than its stream declares. The zero value leaves them alone.
type colours struct {
	matrix gocv.Mat
	right  gocv.Mat
	wrong  bool
}

// coloursOf are those of a stream. The caller closes them.
func coloursOf(s *C.AVStream) (colours, error) {
	declared, ok := lumas[int(s.codecpar.color_space)]
	if !ok {
		return colours{}, nil
	}
	if minds, err := mindsMatrix(); minds || err != nil {
		return colours{}, err
	}
	c := colours{matrix: gocv.NewMatWithSize(3, 3, gocv.MatTypeCV64F), right: gocv.NewMat(), wrong: true}
	for row, values := range declared.inPlaceOf(undeclared) {
		for column, value := range values {
			c.matrix.SetDoubleAt(row, column, value)
		}
	}
	return c, nil
}

// Close frees the pictures that were returned, too.
func (c *colours) Close() {
	if c.wrong {
		closeMat(&c.matrix)
		closeMat(&c.right)
	}
}

// of is a picture in its colours: mat itself, or one that holds until the next call. What
// the wrong matrix has cut off at black or full stays so.
func (c *colours) of(mat gocv.Mat) (gocv.Mat, error) {
	if !c.wrong {
		return mat, nil
	}
	if err := gocv.Transform(mat, &c.right, c.matrix); err != nil {
		return gocv.Mat{}, fmt.Errorf("correct colours: %w", err)
	}
	return c.right, nil
}

// greenClip is a picture in H.264, all of it of red 30, green 180 and blue 60, which declares
// BT.709. By BT.601 its green would come out as 202. testdata/make.py makes it.
//
//go:embed bt709.mkv
var greenClip []byte

// mindsMatrix says whether this OpenCV converts by the matrix that a stream declares, by
// having it do so: versions before 4.13 do not, and whether later ones do may rest with FFmpeg.
var mindsMatrix = sync.OnceValues(func() (bool, error) {
	fd, err := unix.MemfdCreate("green", unix.MFD_CLOEXEC)
	if err != nil {
		return false, fmt.Errorf("make clip: %w", err)
	}
	clip := os.NewFile(uintptr(fd), "green")
	defer func() { _ = clip.Close() }()
	if _, err := clip.Write(greenClip); err != nil {
		return false, fmt.Errorf("make clip: %w", err)
	}
	capture, err := openClip(clip)
	if err != nil {
		return false, fmt.Errorf("see how OpenCV converts colours: %v", err) //nolint:errorlint // the file is not to blame
	}
	defer func() { _ = capture.Close() }()
	mat := gocv.NewMat()
	defer closeMat(&mat)
	if !capture.Read(&mat) || mat.Empty() {
		return false, fmt.Errorf("see how OpenCV converts colours: it reads no picture of H.264")
	}
	return mat.GetVecbAt(0, 0)[1] < (180+202)/2, nil
})
