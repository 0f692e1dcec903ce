package main

import (
	"errors"
	"fmt"
	"time"

	"deepfaked/internal/load"
)

const description = `Puts load on a running service and tells how fast it answers.

An open loop (--rate, --ramp, --burst) sends when requests are due, whether earlier ones have been answered or not; a closed loop (--clients) sends the next one after the answer, or 10 ms after one that is no success. A closed loop hides stalls: its requests are due when they are sent, and while nothing moves none is, so that what many people would have met shows as one slow request of each client. Only an open loop tells that. Latency counts from when a request was due, so that a slow service can't hide by holding this program up. It is that of successes, and of requests that got no answer within --timeout, which count with the time until they were given up: the table marks with ≥ what may be longer. Percentiles count requests that were due and never sent as longer than all others. All else is counted apart. Throughput counts successes a second that come to an end, goodput those within --slo. A percentile is the shortest latency that so many of a hundred do not exceed; where that is the longest of all, as the p99.9 of fewer than a thousand, or of a request that was never sent, the table has a dash.

After the warm-up, windows are measured until throughput and median latency of three in a row lie within 10 % of their means; the figures are those of the three, or of all windows where that never was. Few requests in a window vary by chance alone: lengthen --window for low rates.

The service limits requests a minute and uploads at once, and answers 429 beyond that. To measure more than its limits, give it a configuration (bin/deepfaked serve --config) with higher plans.pro.requests_per_minute, plans.pro.scans, upload.parallel and upload.parallel_per_account.`

// cli is the command line. Operators' scripts rely on its words.
type cli struct {
	URL string `name:"url" default:"http://127.0.0.1:8080" help:"Address of the service. No other is called: redirects and proxies are not followed."`
	Key string `env:"DEEPFAKED_KEY" help:"API key; asynchronous requests need a paid plan."`

	Post string `placeholder:"PATH" help:"Measure any server: post each file to this path, and count answers of 200 as successes."`
	Form string `enum:"multipart,kserve,kserve-json" default:"multipart" help:"How --post sends a file: as the field file of a form (multipart), or as the string of bytes FILE of the Open Inference Protocol, as binary data (kserve) or in base64 (kserve-json)."`

	Rate     float64   `xor:"load" placeholder:"R" help:"Open loop: requests a second."`
	Ramp     []float64 `xor:"load" placeholder:"R1" help:"Open loop at one rate after the other."`
	Clients  int       `xor:"load" placeholder:"N" help:"Closed loop with so many clients."`
	Burst    int       `xor:"load" placeholder:"N" help:"So many requests at once, once. One client warms the service up before, back to back, and uses up what the plan allows in a minute: --warmup 0s leaves that out."`
	Arrivals string    `enum:"poisson,constant" default:"poisson" help:"How an open loop arrives: poisson (like many people) or constant (evenly)."`

	Mode string             `enum:"sync,async,both" default:"sync" help:"sync, async (from submission to result, asking again when the service says) or both, half of each."`
	Mix  map[string]float64 `mapsep:"," placeholder:"KIND=WEIGHT,…" help:"How often files of a kind are sent, such as image=3,audio=1 (default: all files alike)."`
	Seed uint64             `default:"1" help:"Start of the random numbers that choose files and arrivals."`

	Warmup      time.Duration  `default:"5s" help:"Load before the measurement."`
	Window      time.Duration  `default:"10s" help:"Length of a window."`
	Windows     int            `default:"10" help:"Most windows, for each rate."`
	SLO         time.Duration  `name:"slo" default:"2s" help:"Longest latency that counts as good."`
	Timeout     time.Duration  `default:"1m" help:"Longest time of a request, an hour at most."`
	Limit       *time.Duration `placeholder:"DURATION" help:"Longest time of all; what was measured until then is told (default: what all loads may take)."`
	Connections int            `default:"1024" help:"Most requests at once in an open loop; what finds none free is sent late."`

	PID   int    `name:"pid" placeholder:"PID" help:"Process of the service on this machine: tells the processor time of it and its children for each success, and the most memory that was read: proportional set size, in which what processes share counts once, or resident bytes where that can not be read."`
	JSON  string `name:"json" placeholder:"FILE" help:"File for a report as JSON, or - for standard output, which moves the table to standard error."`
	Plots string `placeholder:"DIR" help:"Folder for PNG files: histograms of latencies, and latency against load for ramps."`

	Files []string `arg:"" help:"Files to send, or folders of them."`
}

// plans are what is measured, in order.
func (c *cli) plans() ([]load.Plan, error) {
	base := load.Plan{
		Rate: c.Rate, Poisson: c.Arrivals == "poisson", Clients: c.Clients, Burst: c.Burst,
		Warmup: c.Warmup, Window: c.Window, Windows: c.Windows, SLO: c.SLO, Timeout: c.Timeout, Connections: c.Connections, Seed: c.Seed,
	}
	if c.Rate == 0 && len(c.Ramp) == 0 && c.Clients == 0 && c.Burst == 0 {
		return nil, errors.New("one of --rate, --ramp, --clients and --burst must be given, and more than 0")
	}
	if c.PID != 0 {
		base.Meter = meter(c.PID)
	}
	plans := []load.Plan{base}
	if len(c.Ramp) > 0 {
		plans = nil
	}
	for _, rate := range c.Ramp {
		if rate <= 0 {
			return nil, errors.New("the rates of a ramp must be positive")
		}
		step := base
		step.Rate = rate
		plans = append(plans, step)
	}
	for _, p := range plans {
		if err := p.Validate(); err != nil {
			return nil, err
		}
	}
	if c.Limit != nil && *c.Limit <= 0 {
		return nil, fmt.Errorf("the limit of %v must be positive", *c.Limit)
	}
	return plans, nil
}

// limit is how long all may take: that of the probe and of every load unless given.
func (c *cli) limit(plans []load.Plan) time.Duration {
	if c.Limit != nil {
		return *c.Limit
	}
	all := c.Timeout
	for _, p := range plans {
		all += p.Longest()
	}
	return all
}
