// upstream is a mock LLM server: POST JSON in, JSON or an SSE stream out.
//
//	POST /v1/chat/completions   OpenAI-like; "stream":true answers text/event-stream
//	GET  /v1/chat/completions   always a stream (only to test peers that coalesce nothing but GET)
//	GET  /healthz   GET /stats   POST /reset
//
// Each call takes x-mock-* headers, or query parameters of the same name without "x-mock-":
//
//	x-mock-tokens=16  x-mock-first-ms=0  x-mock-delay-ms=0 (between tokens)
//	x-mock-cache-control=VALUE  (response header; default no-cache)
//	x-mock-fault=die-after=K | fin-after=K | hang | hang-after=K | status=NNN | garbage | garbage-http
//	x-mock-fault-calls=N  (only the first N calls with the same body are faulty; default all)
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/maphash"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type stats struct {
	Server      string `json:"server"` // tells loadgen that this is the mock and not somebody else's server
	Calls       int64  `json:"calls"`
	InFlight    int64  `json:"in_flight"`
	MaxInFlight int64  `json:"max_in_flight"`
	Completed   int64  `json:"completed"`
	Aborted     int64  `json:"aborted"` // the caller went away first
	Faulted     int64  `json:"faulted"`
}

var (
	nextID                       atomic.Int64
	calls, inFlight, maxInFlight atomic.Int64
	completed, aborted, faulted  atomic.Int64
	bodyCalls                    sync.Map // body hash -> *atomic.Int64, only for x-mock-fault-calls
	seed                         = maphash.MakeSeed()
)

func main() {
	addr := flag.String("listen", "127.0.0.1:28080", "loopback address to listen on")
	flag.Parse()
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/chat/completions", chat)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(stats{"bench-upstream", calls.Load(), inFlight.Load(), maxInFlight.Load(), completed.Load(), aborted.Load(), faulted.Load()})
	})
	mux.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) {
		for _, c := range []*atomic.Int64{&calls, &maxInFlight, &completed, &aborted, &faulted} {
			c.Store(0)
		}
		bodyCalls.Clear()
		io.WriteString(w, "ok\n")
	})
	log.Fatal(http.ListenAndServe(*addr, mux))
}

func param(r *http.Request, name string) string {
	if v := r.Header.Get("x-mock-" + name); v != "" {
		return v
	}
	if r.URL.RawQuery == "" {
		return ""
	}
	return r.URL.Query().Get(name)
}

func number(r *http.Request, name string, def int) int {
	n, err := strconv.Atoi(param(r, name))
	if err != nil || n < 0 {
		return def
	}
	return min(n, 1_000_000)
}

func chat(w http.ResponseWriter, r *http.Request) {
	calls.Add(1)
	for n := inFlight.Add(1); ; {
		m := maxInFlight.Load()
		if n <= m || maxInFlight.CompareAndSwap(m, n) {
			break
		}
	}
	defer inFlight.Add(-1)

	body, err := io.ReadAll(io.LimitReader(r.Body, 32<<20))
	if err != nil {
		aborted.Add(1)
		return
	}
	var req struct {
		Stream bool   `json:"stream"`
		Model  string `json:"model"`
	}
	if r.Method == http.MethodGet {
		req.Stream, req.Model = true, "mock"
	} else if r.Method != http.MethodPost {
		http.Error(w, "method", http.StatusMethodNotAllowed)
		return
	} else if err := json.Unmarshal(body, &req); err != nil {
		http.Error(w, `{"error":{"message":"body is not JSON"}}`, http.StatusBadRequest)
		return
	}

	tokens, first, delay := number(r, "tokens", 16), number(r, "first-ms", 0), number(r, "delay-ms", 0)
	fault, at := fault(r, body)
	id := "up-" + strconv.FormatInt(nextID.Add(1), 10)
	h := w.Header()
	h.Set("X-Mock-Id", id)
	h.Set("Cache-Control", "no-cache")
	if cc := param(r, "cache-control"); cc != "" {
		h.Set("Cache-Control", cc)
	}

	ctx := r.Context()
	start := time.Now()
	// waits until the given time after the start, or the caller leaves
	until := func(ms int) bool {
		d := time.Until(start.Add(time.Duration(ms) * time.Millisecond))
		if d <= 0 {
			return ctx.Err() == nil
		}
		return sleep(ctx, d)
	}
	gone := func() { aborted.Add(1) }

	if fault == "hang" {
		faulted.Add(1)
		<-ctx.Done()
		gone()
		return
	}
	if !until(first) {
		gone()
		return
	}
	switch fault {
	case "status":
		faulted.Add(1)
		h.Set("Content-Type", "application/json")
		if at == 429 {
			h.Set("Retry-After", "1")
		}
		w.WriteHeader(at)
		fmt.Fprintf(w, `{"error":{"message":"mock %s","code":%d}}`, id, at)
		return
	case "garbage":
		faulted.Add(1)
		h.Set("Content-Type", "text/event-stream")
		w.Write([]byte("\x00\xff\xfe this is no SSE {{{ " + id + "\n"))
		return
	case "garbage-http":
		faulted.Add(1)
		if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
			c.Write([]byte("\x00\xff this is no HTTP\r\n\r\n"))
			c.Close()
		}
		return
	}

	if !req.Stream {
		if delay > 0 && !until(first+delay*tokens) {
			gone()
			return
		}
		h.Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"chatcmpl-%s","object":"chat.completion","created":1700000000,"model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":8,"completion_tokens":%d,"total_tokens":%d}}`,
			id, req.Model, strings.Repeat("tok ", tokens), tokens, tokens+8)
		completed.Add(1)
		return
	}

	h.Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	buf := make([]byte, 0, 512)
	for i := 0; i < tokens; i++ {
		if fault != "" && i == at {
			faulted.Add(1)
			switch fault {
			case "hang-after":
				<-ctx.Done()
				gone()
			case "die-after": // RST
				time.Sleep(5 * time.Millisecond)
				if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
					c.(*net.TCPConn).SetLinger(0)
					c.Close()
				}
			case "fin-after": // closed without the last chunk
				panic(http.ErrAbortHandler)
			}
			return
		}
		if !until(first + i*delay) {
			gone()
			return
		}
		buf = fmt.Appendf(buf[:0], `data: {"id":"chatcmpl-%s","object":"chat.completion.chunk","created":1700000000,"model":%q,"choices":[{"index":0,"delta":{"content":"tok%d "},"finish_reason":null}]}`+"\n\n", id, req.Model, i)
		if _, err := w.Write(buf); err != nil {
			gone()
			return
		}
		if err := out.Flush(); err != nil {
			gone()
			return
		}
	}
	if _, err := io.WriteString(w, "data: [DONE]\n\n"); err != nil {
		gone()
		return
	}
	completed.Add(1)
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// fault returns the fault's name and its number, if this call is to be faulty.
func fault(r *http.Request, body []byte) (string, int) {
	f := param(r, "fault")
	if f == "" {
		return "", 0
	}
	if n := number(r, "fault-calls", 0); n > 0 {
		c, _ := bodyCalls.LoadOrStore(maphash.Bytes(seed, body), new(atomic.Int64))
		if c.(*atomic.Int64).Add(1) > int64(n) {
			return "", 0
		}
	}
	name, value, _ := strings.Cut(f, "=")
	at, _ := strconv.Atoi(value)
	return name, at
}
