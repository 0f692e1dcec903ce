package account

import (
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func limiter(t *testing.T, entries int) (*Limiter, *clock) {
	t.Helper()
	c := at("2026-01-15T12:00:30Z")
	l, err := NewLimiter(LimiterOptions{Window: time.Minute, Entries: entries, Now: c.Now})
	require.NoError(t, err)
	return l, c
}

func TestLimiterCountsInAWindow(t *testing.T) {
	t.Parallel()
	l, c := limiter(t, 10)
	for i := range 3 {
		assert.Equal(t, Decision{Allowed: true, Limit: 3, Remaining: 2 - i, Reset: time.Minute - time.Duration(i)*time.Second}, l.Allow("a", 3))
		c.add(time.Second)
	}
	assert.Equal(t, Decision{Limit: 3, Reset: 57 * time.Second}, l.Allow("a", 3))
	assert.Equal(t, Decision{Allowed: true, Limit: 1, Reset: time.Minute}, l.Allow("b", 1), "keys are independent")

	c.add(57*time.Second - 1)
	assert.Equal(t, Decision{Limit: 3, Reset: 1}, l.Allow("a", 3))
	c.add(1)
	assert.Equal(t, Decision{Allowed: true, Limit: 3, Remaining: 2, Reset: time.Minute}, l.Allow("a", 3), "a new window")
}

func TestLimiterWhenTheClockStepsBack(t *testing.T) {
	t.Parallel()
	l, c := limiter(t, 10)
	l.Allow("a", 1)
	c.add(-24 * time.Hour)
	assert.Equal(t, Decision{Allowed: true, Limit: 1, Reset: time.Minute}, l.Allow("a", 1))
	d := l.Allow("a", 1)
	assert.False(t, d.Allowed)
	assert.LessOrEqual(t, d.Reset, time.Minute)
}

func TestLimiterWhenThePlanChanges(t *testing.T) {
	t.Parallel()
	l, _ := limiter(t, 10)
	for range 5 {
		l.Allow("a", 5)
	}
	assert.Equal(t, 14, l.Allow("a", 20).Remaining)
	assert.Equal(t, Decision{Limit: 5, Reset: time.Minute}, l.Allow("a", 5))
}

func TestLimiterIsBounded(t *testing.T) {
	t.Parallel()
	const entries = 100
	l, c := limiter(t, entries)
	for i := range 10 * entries {
		require.True(t, l.Allow(fmt.Sprint(i), 1).Allowed, "a newcomer is never refused for want of room")
		require.LessOrEqual(t, len(l.windows), entries)
		c.add(time.Millisecond)
	}
	assert.False(t, l.Allow(fmt.Sprint(10*entries-1), 1).Allowed, "the newest are remembered")
	assert.True(t, l.Allow("0", 1).Allowed, "the oldest made room")

	c.add(time.Minute)
	l.Allow("new", 1)
	assert.Len(t, l.windows, 1, "windows that are over are dropped")
	assert.Equal(t, 1, l.order.Len())
}

func TestLimiterInParallel(t *testing.T) {
	t.Parallel()
	l, _ := limiter(t, 10)
	var allowed atomic.Int64
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			for range 100 {
				if l.Allow("a", 60).Allowed {
					allowed.Add(1)
				}
			}
		})
	}
	group.Wait()
	assert.EqualValues(t, 60, allowed.Load())
}

func TestLimiterOptionsValidate(t *testing.T) {
	t.Parallel()
	for want, opts := range map[string]LimiterOptions{
		"window":  {Entries: 1, Now: time.Now},
		"entries": {Window: 1, Now: time.Now},
		"Now":     {Window: 1, Entries: 1},
	} {
		_, err := NewLimiter(opts)
		assert.ErrorContains(t, err, want)
	}
	assert.NoError(t, DefaultLimiterOptions().Validate())
}

func TestAddressKey(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"192.0.2.7":            "192.0.2.7",
		"::ffff:192.0.2.7":     "192.0.2.7",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
		"2001:db8:1:2:ffff::1": "2001:db8:1:2::/64",
		"fe80::1%eth0":         "fe80::/64",
		"::1":                  "::/64",
	} {
		assert.Equal(t, want, AddressKey(netip.MustParseAddr(addr)), addr)
	}
	assert.NotPanics(t, func() { AddressKey(netip.Addr{}) })
}
