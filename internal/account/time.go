package account

import (
	"database/sql"
	"time"
)

// Times are kept as integers: microseconds since 1970 UTC compare and index
// the same in every database, and no driver has its own idea of their form.

func micros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// fromNullMicros gives the zero time for NULL.
func fromNullMicros(us sql.NullInt64) time.Time {
	if !us.Valid {
		return time.Time{}
	}
	return fromMicros(us.Int64)
}

const day = 24 * time.Hour

// dayNumber counts UTC days since 1970. A UTC day always has 24 hours here:
// Unix time has no leap seconds.
func dayNumber(t time.Time) int64 {
	return t.UTC().Truncate(day).Unix() / int64(day/time.Second)
}

// untilMidnight is the time to the next 00:00 UTC, in (0, 24h].
func untilMidnight(t time.Time) time.Duration {
	t = t.UTC()
	return t.Truncate(day).Add(day).Sub(t)
}
