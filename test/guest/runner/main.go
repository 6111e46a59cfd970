// The runner inside a test guest: scripts come in over a virtio-serial port, their output and exit codes go out.
//
// Each message is a line of JSON, so that a reader who comes in the middle finds the next beginning. Several scripts may run at once. Of a
// call's output at most `window` messages are on their way at a time: the rest waits in the script's own pipes. The goroutine
// that reads never writes nor waits for one that does, so a full line in one direction cannot stop the other.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"log"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const (
	portPath   = "/dev/virtio-ports/deckhand.commands"
	chunkBytes = 16 * 1024
	window     = 8
)

type message struct {
	Kind string `json:"kind"`
	// Of the call that the message is about.
	ID   string `json:"id,omitempty"`
	Data []byte `json:"data,omitempty"`
	// script: no more of it follows.
	Last bool `json:"last,omitempty"`
	// output: "stdout" or "stderr".
	Stream string `json:"stream,omitempty"`
	// exit: how much output was sent before it.
	Code        int `json:"code"`
	StdoutBytes int `json:"stdoutBytes"`
	StderrBytes int `json:"stderrBytes"`
	// hello and ready.
	Session string `json:"session,omitempty"`
	BootID  string `json:"bootId,omitempty"`
	WallMs  int64  `json:"wallMs,omitempty"`
	// exit: why the script could not be run at all.
	Trouble string `json:"trouble,omitempty"`
}

type call struct {
	id     string
	script []byte
	window chan struct{}
	gone   chan struct{}
	once   sync.Once

	mutex sync.Mutex
	pid   int
}

// Ends the script with all that it started in its process group, and whoever waits to send for it.
func (c *call) end() {
	c.once.Do(func() { close(c.gone) })
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.pid != 0 {
		syscall.Kill(-c.pid, syscall.SIGKILL)
	}
}

type runner struct {
	port    int
	bootID  string
	session string

	writing sync.Mutex

	mutex sync.Mutex
	calls map[string]*call
}

func main() {
	bootID, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		log.Fatal(err)
	}
	r := &runner{port: openPort(), bootID: strings.TrimSpace(string(bootID)), calls: map[string]*call{}}
	// Before anything is read: whoever hears it without a session's name knows that what an earlier runner did is lost.
	r.send(message{Kind: "ready"})
	r.read()
}

// Waits for the port, which comes with its module.
func openPort() int {
	for {
		fd, err := syscall.Open(portPath, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
		if err == nil {
			return fd
		}
		if err != syscall.ENOENT {
			log.Printf("cannot open %s: %v", portPath, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (r *runner) read() {
	var pending []byte
	buffer := make([]byte, 64*1024)
	for {
		n, err := syscall.Read(r.port, buffer)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			log.Fatalf("cannot read the port: %v", err)
		}
		if n == 0 { // Nobody is at the other end.
			pending = nil
			r.endAll()
			time.Sleep(20 * time.Millisecond)
			continue
		}
		pending = append(pending, buffer[:n]...)
		for {
			end := bytes.IndexByte(pending, '\n')
			if end < 0 {
				break
			}
			r.take(pending[:end])
			pending = pending[end+1:]
		}
	}
}

func (r *runner) take(line []byte) {
	var m message
	if len(line) == 0 {
		return
	}
	if err := json.Unmarshal(line, &m); err != nil {
		log.Printf("not a message: %v", err)
		return
	}
	r.mutex.Lock()
	c := r.calls[m.ID]
	r.mutex.Unlock()
	switch m.Kind {
	case "hello":
		if m.Session != r.session {
			r.endAll()
			r.session = m.Session
		}
		greet(m)
		go r.send(message{Kind: "ready", Session: m.Session})
	case "script":
		if c == nil {
			c = &call{id: m.ID, window: make(chan struct{}, window), gone: make(chan struct{})}
			r.mutex.Lock()
			r.calls[m.ID] = c
			r.mutex.Unlock()
		}
		c.script = append(c.script, m.Data...)
		if m.Last {
			go r.run(c)
		} else {
			go r.send(message{Kind: "ack", ID: m.ID})
		}
	case "ack":
		if c != nil {
			select {
			case <-c.window:
			default:
			}
		}
	case "kill":
		if c != nil {
			c.end()
		}
	default:
		log.Printf("unknown message %q", m.Kind)
	}
}

func (r *runner) endAll() {
	r.mutex.Lock()
	calls := r.calls
	r.calls = map[string]*call{}
	r.mutex.Unlock()
	for _, c := range calls {
		c.end()
	}
}

// A resumed guest has the time and the randomness of the moment it was kept; the host brings those of now.
func greet(m message) {
	if m.WallMs > 0 {
		now := syscall.NsecToTimeval(m.WallMs * 1_000_000)
		if err := syscall.Settimeofday(&now); err != nil {
			log.Printf("cannot set the clock: %v", err)
		}
	}
	if len(m.Data) == 0 {
		return
	}
	const addEntropy, reseed = 0x40085203, 0x5207
	random, err := os.OpenFile("/dev/random", os.O_WRONLY, 0)
	if err != nil {
		log.Printf("cannot open /dev/random: %v", err)
		return
	}
	defer random.Close()
	pool := struct {
		bits, bytes int32
		content     [64]byte
	}{}
	pool.bytes = int32(copy(pool.content[:], m.Data))
	pool.bits = pool.bytes * 8
	if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, random.Fd(), addEntropy, uintptr(unsafe.Pointer(&pool))); e != 0 {
		log.Printf("cannot add randomness: %v", e)
	}
	if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, random.Fd(), reseed, 0); e != 0 {
		log.Printf("cannot renew the randomness: %v", e)
	}
}

func (r *runner) send(m message) {
	if m.Kind == "ready" {
		m.BootID = r.bootID
	}
	line, err := json.Marshal(m)
	if err != nil {
		log.Fatal(err)
	}
	line = append(line, '\n')
	if m.Kind == "ready" { // What was cut off before it must not become a part of it.
		line = append([]byte{'\n'}, line...)
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	for len(line) > 0 {
		n, err := syscall.Write(r.port, line)
		if err == syscall.EINTR || err == syscall.EAGAIN {
			continue
		}
		if err != nil {
			log.Fatalf("cannot write to the port: %v", err)
		}
		line = line[n:]
	}
}

func (r *runner) run(c *call) {
	exit := message{Kind: "exit", ID: c.id}
	if err := r.runScript(c, &exit); err != nil {
		exit.Code = 126
		exit.Trouble = err.Error()
	}
	r.mutex.Lock()
	_, known := r.calls[c.id]
	delete(r.calls, c.id)
	r.mutex.Unlock()
	if known {
		r.send(exit)
	}
}

func (r *runner) runScript(c *call, exit *message) error {
	file, err := os.CreateTemp("", "script-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if _, err := file.Write(c.script); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	cmd := exec.Command("/bin/bash", file.Name())
	cmd.Dir = "/root"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, outEnd, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	errs, errsEnd, err := os.Pipe()
	if err != nil {
		outEnd.Close()
		return err
	}
	defer errs.Close()
	cmd.Stdout, cmd.Stderr = outEnd, errsEnd
	err = c.start(cmd)
	outEnd.Close()
	errsEnd.Close()
	if err != nil {
		return err
	}
	var sending sync.WaitGroup
	sending.Go(func() { exit.StdoutBytes = r.sendAll(c, "stdout", out) })
	sending.Go(func() { exit.StderrBytes = r.sendAll(c, "stderr", errs) })
	err = cmd.Wait()
	c.mutex.Lock()
	c.pid = 0
	c.mutex.Unlock()
	// A program that the script left running may hold the pipes for ever. What the script itself wrote is in them by now.
	out.SetReadDeadline(time.Now())
	errs.SetReadDeadline(time.Now())
	sending.Wait()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	exit.Code = status.ExitStatus()
	if status.Signaled() {
		exit.Code = 128 + int(status.Signal())
	}
	return nil
}

func (c *call) start(cmd *exec.Cmd) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	select {
	case <-c.gone:
		return errors.New("ended before it began")
	default:
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.pid = cmd.Process.Pid
	return nil
}

// Sends what comes out of a pipe until its end, or, once the deadline has passed, until nothing more is in it.
func (r *runner) sendAll(c *call, stream string, pipe *os.File) int {
	total := 0
	buffer := make([]byte, chunkBytes)
	for {
		n, err := pipe.Read(buffer)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if n > 0 && !r.sendChunk(c, stream, buffer[:n]) {
			return total
		}
		total += n
		if err != nil {
			return total
		}
	}
	pipe.SetReadDeadline(time.Time{})
	raw, err := pipe.SyscallConn()
	if err != nil {
		return total
	}
	for {
		var n int
		if err := raw.Read(func(fd uintptr) bool { n, _ = syscall.Read(int(fd), buffer); return true }); err != nil || n <= 0 {
			return total
		}
		if !r.sendChunk(c, stream, buffer[:n]) {
			return total
		}
		total += n
	}
}

func (r *runner) sendChunk(c *call, stream string, data []byte) bool {
	select {
	case c.window <- struct{}{}:
	case <-c.gone:
		return false
	}
	r.send(message{Kind: "output", ID: c.id, Stream: stream, Data: data})
	return true
}
