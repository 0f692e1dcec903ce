package account

import (
	"errors"
	"fmt"
	"time"
)

// Period is the span of time that a plan's allowance of scans is for.
type Period string

// The periods of the contract.
const (
	Lifetime Period = "lifetime" // from the account's creation on
	Monthly  Period = "monthly"  // from 00:00 UTC on the first of the month
)

// Plan is what an account may use.
type Plan struct {
	Name              string `yaml:"-"`
	RequestsPerMinute int    `yaml:"requests_per_minute"`
	Daily             int    `yaml:"daily" comment:"submissions in a UTC day; 0: no such limit"`
	Scans             int    `yaml:"scans" comment:"successful detections in a period"`
	Period            Period `yaml:"period" comment:"lifetime or monthly"`
	Async             bool   `yaml:"async" comment:"may submit with async=true"`
}

// DefaultPlans are those of the contract: free, starter and pro.
func DefaultPlans() []Plan {
	return []Plan{
		{Name: "free", RequestsPerMinute: 5, Daily: 10, Scans: 200, Period: Lifetime},
		{Name: "starter", RequestsPerMinute: 20, Scans: 2_000, Period: Monthly, Async: true},
		{Name: "pro", RequestsPerMinute: 60, Scans: 10_000, Period: Monthly, Async: true},
	}
}

// Validate names the first field that makes no sense, by its key in the
// configuration file.
func (p Plan) Validate() error {
	switch {
	case p.Name == "":
		return errors.New("plans: a plan must have a name")
	case p.RequestsPerMinute < 1:
		return fmt.Errorf("plans.%s.requests_per_minute must be at least 1", p.Name)
	case p.Daily < 0:
		return fmt.Errorf("plans.%s.daily must be at least 0 (0: no daily limit)", p.Name)
	case p.Scans < 1:
		return fmt.Errorf("plans.%s.scans must be at least 1", p.Name)
	case p.Period != Lifetime && p.Period != Monthly:
		return fmt.Errorf("plans.%s.period must be lifetime or monthly", p.Name)
	}
	return nil
}

// PeriodStart is when the period that now lies in began, for an account created
// at created; in UTC.
func (p Plan) PeriodStart(now, created time.Time) time.Time {
	if p.Period == Lifetime {
		return created.UTC()
	}
	year, month, _ := now.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}
