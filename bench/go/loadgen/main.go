// loadgen sends chat requests to one loopback target over HTTP/1.1 keepalive
// connections and prints what came back as one line of JSON. Modes:
//
//	burst   -keys K -dup N: K distinct bodies, N identical requests each, all at once
//	closed  -conns C -duration D [-dup-ratio R]: C connections, each one request at a time
//	open    -rate R -duration D [-dup-ratio R] -conns C: fixed arrival times, at most C in flight
//
// Every run stops by itself: at most 200,000 requests, 20 s of sending, -timeout a request.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	maxRequests = 200_000
	maxDuration = 20 * time.Second
)

var (
	base       = flag.String("url", "http://127.0.0.1:28080", "target")
	statsURL   = flag.String("upstream", "http://127.0.0.1:28080", "upstream, for its /reset and /stats")
	mode       = flag.String("mode", "burst", "burst, closed or open")
	keys       = flag.Int("keys", 1, "burst: distinct bodies")
	dup        = flag.Int("dup", 1, "burst: identical requests per body")
	conns      = flag.Int("conns", 16, "closed, open: connections")
	duration   = flag.Duration("duration", 3*time.Second, "closed, open: time of sending")
	rate       = flag.Float64("rate", 500, "open: requests per second")
	requests   = flag.Int("requests", maxRequests, "closed, open: stop after this many")
	dupRatio   = flag.Float64("dup-ratio", 0, "closed, open: share of requests that repeat the body before them")
	stream     = flag.Bool("stream", false, "ask for SSE")
	method     = flag.String("method", "POST", "POST, or GET with the key in the query")
	tokens     = flag.Int("tokens", 16, "x-mock-tokens")
	delayMs    = flag.Int("delay-ms", 0, "x-mock-delay-ms")
	firstMs    = flag.Int("first-ms", 0, "x-mock-first-ms")
	fault      = flag.String("fault", "", "x-mock-fault")
	faultCalls = flag.Int("fault-calls", 0, "x-mock-fault-calls")
	cacheCtl   = flag.String("cache-control", "", "x-mock-cache-control")
	pad        = flag.Int("pad", 1000, "bytes of prompt added to each body")
	timeout    = flag.Duration("timeout", 20*time.Second, "per request")
	stagger    = flag.Int("stagger-ms", 0, "burst: the n-th client of a key starts n times this late")
	lead       = flag.Int("lead-ms", 0, "burst: followers start this long after their leader")
	abortAfter = flag.Int("abort-after", 0, "burst: the leader hangs up after this many events")
	pauseMs    = flag.Int("pause-ms", 0, "burst: the leader stops reading this long after its first event")
	optOut     = flag.Bool("opt-out", false, "send x-coalesce: never")
	againMs    = flag.Int("again-ms", -1, "burst: send each body once more this long after the end")
)

type result struct {
	key    int
	leader bool
	status int
	err    string
	done   bool
	ttft   time.Duration
	total  time.Duration
	maxGap time.Duration
	events int
	bytes  int
	hash   uint64
	ids    []string
}

// client is one keepalive connection. It reads and writes in the caller's
// goroutine, since net/http's Transport costs several times the CPU.
type client struct {
	dialer net.Dialer
	conn   net.Conn
	in     *bufio.Reader
	out    []byte
	body   []byte
	gaps   []time.Duration
	res    []result
}

var (
	target *url.URL
	seed   = maphash.MakeSeed()
	nonce  = strconv.FormatUint(rand.Uint64(), 36)
	fill   = strings.Repeat("lorem ipsum ", maxPad/12+1)
)

const maxPad = 1 << 20

func newClient(smallBuffer bool) *client {
	c := &client{dialer: net.Dialer{Timeout: 5 * time.Second}, body: make([]byte, 0, 16<<10)}
	if smallBuffer {
		c.dialer.Control = func(_, _ string, r syscall.RawConn) error {
			return r.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
		}
	}
	// opens the connection before the clock starts
	c.out = fmt.Appendf(c.out[:0], "GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n", target.Host)
	if resp, err := c.send(time.Now()); err == nil {
		io.Copy(io.Discard, resp.Body)
		c.free(resp.Close)
	} else {
		c.free(true)
	}
	return c
}

func (c *client) send(start time.Time) (*http.Response, error) {
	if c.conn == nil {
		conn, err := c.dialer.Dial("tcp", target.Host)
		if err != nil {
			return nil, err
		}
		c.conn, c.in = conn, bufio.NewReader(conn)
	}
	c.conn.SetDeadline(start.Add(*timeout))
	if _, err := c.conn.Write(c.out); err != nil {
		return nil, err
	}
	return http.ReadResponse(c.in, nil)
}

func (c *client) free(hangUp bool) {
	if hangUp && c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

func (c *client) do(key int, leader bool, start time.Time) {
	r := result{key: key, leader: leader}
	name := nonce + "-" + strconv.Itoa(key)
	query := ""
	if *method == http.MethodGet {
		query = "?key=" + name
	}
	o := fmt.Appendf(c.out[:0], "%s /v1/chat/completions%s HTTP/1.1\r\nHost: %s\r\nx-mock-tokens: %d\r\n"+
		"x-bench-key: %s\r\n", // only for peers that cannot key on a body
		*method, query, target.Host, *tokens, name)
	set := func(k, v string) {
		if v != "" && v != "0" {
			o = fmt.Appendf(o, "%s: %s\r\n", k, v)
		}
	}
	set("x-mock-delay-ms", strconv.Itoa(*delayMs))
	set("x-mock-first-ms", strconv.Itoa(*firstMs))
	if *optOut {
		set("x-coalesce", "never")
	}
	set("x-mock-fault", *fault)
	set("x-mock-fault-calls", strconv.Itoa(*faultCalls))
	set("x-mock-cache-control", *cacheCtl)
	if *method == http.MethodGet {
		o = append(o, "\r\n"...)
	} else {
		b := fmt.Sprintf(`{"model":"mock","temperature":0,"stream":%t,"messages":[{"role":"user","content":"%s %s"}]}`, *stream, name, fill[:min(*pad, maxPad)])
		o = fmt.Appendf(o, "Authorization: Bearer bench\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(b), b)
	}
	c.out = o

	resp, err := c.send(start)
	if err != nil {
		r.err, r.total = kind(err), time.Since(start)
		c.free(true)
		c.res = append(c.res, r)
		return
	}
	defer func() { c.free(resp.Close || r.err != "") }()
	r.status = resp.StatusCode
	c.body = c.body[:0]
	var last time.Time
	for {
		c.body = slices.Grow(c.body, 8<<10)
		old := len(c.body)
		n, err := resp.Body.Read(c.body[old:cap(c.body)])
		if n > 0 {
			now := time.Now()
			if old == 0 {
				r.ttft = now.Sub(start)
			}
			c.body = c.body[:old+n]
			if *stream || *method == http.MethodGet {
				ev := bytes.Count(c.body[max(0, old-1):], []byte("\n\n"))
				if ev > 0 {
					if !last.IsZero() {
						g := now.Sub(last)
						c.gaps = append(c.gaps, g)
						r.maxGap = max(r.maxGap, g)
						ev--
						r.events++
					}
					for i := 0; i < ev && !last.IsZero(); i++ {
						c.gaps = append(c.gaps, 0) // came in the same read
					}
					r.events += ev
					last = now
				}
				if leader && *pauseMs > 0 && old == 0 {
					time.Sleep(time.Duration(*pauseMs) * time.Millisecond)
				}
				if leader && *abortAfter > 0 && r.events >= *abortAfter {
					r.err = "we hung up"
					break
				}
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			r.err = kind(err)
			break
		}
	}
	r.total = time.Since(start)
	r.bytes, r.hash = len(c.body), maphash.Bytes(seed, c.body)
	if *stream || *method == http.MethodGet {
		r.done = r.err == "" && bytes.HasSuffix(c.body, []byte("data: [DONE]\n\n"))
	} else {
		r.done = r.err == "" && json.Valid(c.body)
	}
	r.ids = idsIn(c.body)
	c.res = append(c.res, r)
}

// idsIn lists the distinct upstream ids in a body.
func idsIn(b []byte) (ids []string) {
	mark, last := []byte("up-"), []byte(nil)
	for {
		i := bytes.Index(b, mark)
		if i < 0 {
			return ids
		}
		e := i + 3
		for e < len(b) && b[e] >= '0' && b[e] <= '9' {
			e++
		}
		if id := b[i:e]; e > i+3 && !bytes.Equal(id, last) {
			last = id
			if s := string(id); !slices.Contains(ids, s) {
				ids = append(ids, s)
			}
		}
		b = b[e:]
	}
}

func kind(err error) string {
	var ne net.Error
	switch {
	case errors.As(err, &ne) && ne.Timeout():
		return "timeout"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "cut" // closed in an answer, without its last chunk
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	}
	s := err.Error()
	if i := strings.LastIndex(s, ": "); i >= 0 {
		s = s[i+2:]
	}
	return s
}

func main() {
	flag.Parse()
	var err error
	target, err = url.Parse(*base)
	if err != nil || target.Port() == "" || !net.ParseIP(target.Hostname()).IsLoopback() {
		fmt.Fprintln(os.Stderr, "loadgen: the target must be http:// a loopback address and a port")
		os.Exit(2)
	}
	*duration = min(*duration, maxDuration)
	*requests = min(*requests, maxRequests)
	if *mode == "burst" {
		*conns = *keys * *dup
	}
	if *conns < 1 || *conns > 4000 {
		fmt.Fprintln(os.Stderr, "loadgen: 1 to 4000 connections")
		os.Exit(2)
	}

	if stats()["server"] != "bench-upstream" {
		fmt.Fprintln(os.Stderr, "loadgen: no upstream of the bench answers at", *statsURL)
		os.Exit(2)
	}
	clients := make([]*client, *conns)
	var wg sync.WaitGroup
	limit := make(chan struct{}, 16) // connections opened at a time
	for i := range clients {
		wg.Add(1)
		limit <- struct{}{}
		go func() {
			defer func() { <-limit; wg.Done() }()
			clients[i] = newClient(*pauseMs > 0 && *mode == "burst" && i < *keys)
		}()
	}
	wg.Wait()
	if resp, err := http.Post(*statsURL+"/reset", "", nil); err == nil {
		resp.Body.Close()
	}

	cpu0 := cpu()
	begin := time.Now()
	switch *mode {
	case "burst":
		gate := make(chan struct{})
		for i, c := range clients {
			key, nth := i%*keys, i / *keys
			wg.Add(1)
			go func() {
				defer wg.Done()
				<-gate
				wait := nth * *stagger
				if nth > 0 {
					wait += *lead
				}
				if wait > 0 {
					time.Sleep(time.Duration(wait) * time.Millisecond)
				}
				c.do(key, nth == 0, time.Now())
			}()
		}
		begin = time.Now()
		close(gate)
	case "closed", "open":
		var seq atomic.Int64
		for _, c := range clients {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for {
					n := int(seq.Add(1) - 1)
					start := time.Now()
					if *mode == "open" {
						start = begin.Add(time.Duration(float64(n) / *rate * float64(time.Second)))
					}
					if n >= *requests || start.Sub(begin) >= *duration {
						return
					}
					time.Sleep(time.Until(start))
					c.do(int(float64(n)*(1-*dupRatio)), false, start)
				}
			}()
		}
	default:
		fmt.Fprintln(os.Stderr, "loadgen: no such mode")
		os.Exit(2)
	}
	wg.Wait()
	wall := time.Since(begin)
	used := cpu() - cpu0
	time.Sleep(30 * time.Millisecond) // lets the upstream notice who hung up
	up := stats()
	out := report(clients, wall)
	delete(up, "server")
	out["cpu_s"], out["upstream"] = round(used, 3), up
	if *mode == "burst" && *againMs >= 0 {
		time.Sleep(time.Duration(*againMs) * time.Millisecond)
		var again []*client
		for k := range *keys {
			c := newClient(false)
			c.do(k, false, time.Now())
			again = append(again, c)
		}
		out["again"] = report(again, time.Second)["outcomes"]
		out["again_upstream_calls"] = number(stats()["calls"]) - number(up["calls"])
	}
	b, _ := json.Marshal(out)
	fmt.Println(string(b))
}

func number(v any) float64 { f, _ := v.(float64); return f }

func report(clients []*client, wall time.Duration) map[string]any {
	var ttft, total, gaps, leaderGaps, followerGaps []time.Duration
	var n, ok, events, mixed int
	var size int64
	errs, outcomes := map[string]int{}, map[string]int{}
	ids := map[string]bool{}
	type perKey struct {
		hashes map[uint64]bool
		ids    map[string]bool
	}
	byKey := map[int]*perKey{}
	for _, c := range clients {
		gaps = append(gaps, c.gaps...)
		if len(c.res) > 0 && c.res[0].leader {
			leaderGaps = append(leaderGaps, c.gaps...)
		} else {
			followerGaps = append(followerGaps, c.gaps...)
		}
		for _, r := range c.res {
			n++
			events += r.events
			size += int64(r.bytes)
			total = append(total, r.total)
			if r.ttft > 0 {
				ttft = append(ttft, r.ttft)
			}
			k := byKey[r.key]
			if k == nil {
				k = &perKey{map[uint64]bool{}, map[string]bool{}}
				byKey[r.key] = k
			}
			if r.done && r.status == 200 {
				ok++
				k.hashes[r.hash] = true
			}
			for _, id := range r.ids {
				ids[id], k.ids[id] = true, true
			}
			if len(r.ids) > 1 {
				mixed++
			}
			how := "complete"
			if r.err != "" {
				how = r.err
			} else if r.status == 200 && !r.done {
				how = "ended without [DONE]"
			}
			if r.err != "" || !r.done || r.status != 200 {
				errs[fmt.Sprintf("%d %s", r.status, how)]++
			}
			if *mode == "burst" {
				who := "follower"
				if r.leader {
					who = "leader"
				}
				outcomes[fmt.Sprintf("%s: %d %s, %d events", who, r.status, how, r.events)]++
			}
		}
	}
	same, idsPerKey := 0, 0
	for _, k := range byKey {
		if len(k.hashes) == 1 {
			same++
		}
		idsPerKey = max(idsPerKey, len(k.ids))
	}
	s := wall.Seconds()
	out := map[string]any{
		"url": *base, "mode": *mode, "requests": n, "ok": ok, "errors": errs, "wall_s": round(s, 4),
		"rps": round(float64(n)/s, 1), "events": events, "events_per_s": round(float64(events)/s, 0), "bytes": size,
		"ttft_p50_ms": ms(ttft, .5), "ttft_p99_ms": ms(ttft, .99), "ttft_max_ms": ms(ttft, 1),
		"total_p50_ms": ms(total, .5), "total_p99_ms": ms(total, .99), "total_max_ms": ms(total, 1),
		"gap_p50_ms": ms(gaps, .5), "gap_p99_ms": ms(gaps, .99), "gap_max_ms": ms(gaps, 1),
		"keys": len(byKey), "keys_bytes_equal": same, "upstream_ids": len(ids), "max_ids_per_key": idsPerKey, "mixed_bodies": mixed,
	}
	if *mode == "burst" {
		out["leader_gap_p99_ms"], out["follower_gap_p99_ms"] = ms(leaderGaps, .99), ms(followerGaps, .99)
		out["outcomes"] = outcomes
		var lead, follow time.Duration
		for _, c := range clients {
			for _, r := range c.res {
				if r.leader {
					lead = max(lead, r.total)
				} else {
					follow = max(follow, r.total)
				}
			}
		}
		out["leader_max_ms"], out["follower_max_ms"] = ms([]time.Duration{lead}, 1), ms([]time.Duration{follow}, 1)
	}
	return out
}

func ms(d []time.Duration, q float64) float64 {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return round(float64(d[min(len(d)-1, int(q*float64(len(d))))].Microseconds())/1000, 2)
}

func round(f float64, places int) float64 {
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'f', places, 64), 64)
	return f
}

func cpu() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return round(float64(u.Utime.Nano()+u.Stime.Nano())/1e9, 3)
}

func stats() map[string]any {
	m := map[string]any{}
	if r, err := http.Get(*statsURL + "/stats"); err == nil {
		json.NewDecoder(r.Body).Decode(&m)
		r.Body.Close()
	}
	return m
}
