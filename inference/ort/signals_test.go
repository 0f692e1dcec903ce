package ort

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// TestSignalsAreKept: what NVIDIA's libraries do, to replace the handlers of the
// program that loads them, is done here by hand. Without keepSignals the program
// would hear of no SIGTERM any more: it could not drain.
func TestSignalsAreKept(t *testing.T) { //nolint:paralleltest // signals belong to the process
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGTERM)
	defer signal.Stop(heard)
	failure := errors.New("failed")
	err := keepSignals(func() error {
		ignore := action{1} // SIG_IGN
		if err := sigaction(int(syscall.SIGTERM), &ignore, nil); err != nil {
			t.Fatal(err)
		}
		return failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("got %v, want what was returned", err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-heard:
	case <-time.After(2 * time.Minute):
		t.Error("SIGTERM does not reach the program")
	}
}

// TestSIGTERMDuringARun: the program hears of it, and what runs comes to its end:
// the service could drain. On a GPU this is what keepSignals is there for.
func TestSIGTERMDuringARun(t *testing.T) { //nolint:paralleltest // signals belong to the process
	session := newTestSession(t, openEnvironment(t, nil), bytesModel(t), 4)
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGTERM)
	defer signal.Stop(heard)
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			if _, err := session.Run(4); err != nil {
				ended <- err
				return
			}
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
		}
	}()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-heard:
	case <-time.After(2 * time.Minute):
		t.Error("SIGTERM does not reach the program")
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Error("the run:", err)
	}
}
