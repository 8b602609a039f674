// Verifies a signed message of Sealpost, of a sender `webhook` or with events (Standard Webhooks).
//
//	go run examples/verify.go hook.secret ID TIMESTAMP SIGNATURE <body
//
// The arguments are the name of the secret's file, and the request's fields `webhook-id`,
// `webhook-timestamp` and `webhook-signature`.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

const tolerance = 5 * time.Minute

// Verify returns an error unless one of the secrets has signed the message in the last five
// minutes. Two lines have a secret while one replaces the other. Within these minutes an attacker
// could replay a message, so store the ids.
func Verify(secrets, id, timestamp, signatures string, body []byte, now time.Time) error {
	isSigned := false
	for _, line := range strings.Split(strings.ReplaceAll(strings.TrimPrefix(secrets, "\ufeff"), "\r", "\n"), "\n") {
		if line = strings.Trim(line, " \t"); line == "" {
			continue
		}
		key, err := key(line)
		if err != nil {
			return err
		}
		code := hmac.New(sha256.New, key)
		fmt.Fprintf(code, "%s.%s.%s", id, timestamp, body)
		expected := "v1," + base64.StdEncoding.EncodeToString(code.Sum(nil))
		for _, signature := range strings.Split(signatures, " ") {
			// Compares in constant time.
			isSigned = hmac.Equal([]byte(signature), []byte(expected)) || isSigned
		}
	}
	if !isSigned {
		return errors.New("no signature is by a known secret")
	}
	seconds, err := strconv.ParseUint(timestamp, 10, 40)
	if err != nil || now.Sub(time.Unix(int64(seconds), 0)).Abs() > tolerance {
		return errors.New("the message is too old, or the clocks differ")
	}
	return nil
}

// key reads both alphabets of base64, with or without padding, as the server does.
func key(secret string) ([]byte, error) {
	if strings.IndexFunc(secret, func(letter rune) bool { return letter < ' ' || letter > '~' }) >= 0 {
		return nil, errors.New("a secret may only have ASCII characters and blanks")
	}
	key, err := []byte(secret), error(nil)
	if strings.HasPrefix(secret, "whsec_") {
		text := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(secret[len("whsec_"):], "="))
		key, err = base64.RawStdEncoding.DecodeString(text)
	}
	if err != nil || len(key) < 24 {
		return nil, errors.New("a secret is whsec_ and base64, or a text, of at least 24 bytes")
	}
	return key, nil
}

func main() {
	secrets, err := os.ReadFile(os.Args[1])
	if err == nil {
		var body []byte
		// Longer bodies do not come from Sealpost.
		body, err = io.ReadAll(io.LimitReader(os.Stdin, 1<<20))
		if err == nil {
			err = Verify(string(secrets), os.Args[2], os.Args[3], os.Args[4], body, time.Now())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
