// Sends texts to a user, each text once, and prints the paths of the notifications, by the rules
// of docs/backends.md.
//
//	SEALPOST_TOKEN=spt_… go run examples/publish.go https://push.example.com alice "Your test result is in."
//
// The token is a publisher's, with the scope `send`: sealpost token create NAME --scope send
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"time"
)

type Notification struct {
	Payload any
	To      []string
}

type Sent struct{ Id int64 }

type Problem struct {
	Type, Detail string
	Status       int
}

func (problem Problem) Error() string { return problem.Type + ": " + problem.Detail }

var name = regexp.MustCompile(`^[A-Za-z0-9_@#+.-]{1,100}$`)

var client = http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error {
	return http.ErrUseLastResponse
}}

// User is the tag expression of one user. With other characters the name could be read as an
// expression, such as `alice || username:bob`.
func User(user string) (string, error) {
	if !name.MatchString(user) {
		return "", fmt.Errorf("%q is not the name of a user", user)
	}
	return "username:" + user, nil
}

// Send posts a notification. All attempts have the same key, so the server sends it once. If the
// caller can repeat the call, the error names the key.
func Send(server, token, key string, notification Notification, deadline time.Time) (Sent, error) {
	body, err := json.Marshal(notification)
	if err != nil {
		return Sent{}, err
	}
	address, err := url.Parse(server)
	if err != nil {
		return Sent{}, err
	}
	host := address.Hostname()
	if address.Scheme != "https" && host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return Sent{}, errors.New("http sends the token in clear: use https")
	}
	limit, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	for delay := int64(250); ; delay = 2 * delay {
		sent, wait, err := attempt(limit, server, token, key, body)
		if delay > 30_000 {
			delay = 30_000
		}
		pause := time.Duration(delay/2+random(delay/2+1))*time.Millisecond + wait
		if err == nil || wait < 0 {
			return sent, err
		}
		if time.Now().Add(pause).After(deadline) {
			return sent, fmt.Errorf("%w (repeat with the key %s)", err, key)
		}
		time.Sleep(pause)
	}
}

// attempt makes one request. The wait before the next one is negative if its error is final.
func attempt(limit context.Context, server, token, key string, body []byte) (sent Sent, wait time.Duration, err error) {
	request, err := http.NewRequestWithContext(limit, "POST", server+"/api/notifications", bytes.NewReader(body))
	if err != nil {
		return sent, -1, err
	}
	number := random(126_322_568)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", key)
	request.Header.Set("MyToken", fmt.Sprint(number))
	request.Header.Set("Prefer", "handling=strict")
	response, err := client.Do(request)
	if err != nil {
		return sent, 0, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		return sent, 0, err
	}
	wait = -1
	switch response.StatusCode {
	case 408, 429, 500, 502, 503, 504, 507:
		seconds, _ := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 24)
		wait = time.Duration(seconds) * time.Second
	}
	if response.Header.Get("MyToken") != fmt.Sprint(number*17+3) {
		return sent, wait, fmt.Errorf("the answer %s is not the server's own", response.Status)
	}
	if response.StatusCode == 201 {
		return sent, -1, json.Unmarshal(content, &sent)
	}
	problem := Problem{Status: response.StatusCode}
	if err = json.Unmarshal(content, &problem); err != nil {
		return sent, wait, err
	}
	if problem.Type == "urn:sealpost:problem:idempotency-key-in-use" {
		wait = 0
	}
	return sent, wait, problem
}

func random(limit int64) int64 {
	number, err := rand.Int(rand.Reader, big.NewInt(limit))
	if err != nil {
		panic(err)
	}
	return number.Int64()
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: publish SERVER USER TEXT...")
		os.Exit(64)
	}
	user, err := User(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, text := range os.Args[3:] {
		key := fmt.Sprintf("%x-%x", random(1<<62), random(1<<62))
		notification := Notification{Payload: text, To: []string{user}}
		sent, err := Send(os.Args[1], os.Getenv("SEALPOST_TOKEN"), key, notification, time.Now().Add(time.Minute))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("/api/notifications/%d\n", sent.Id)
	}
}
