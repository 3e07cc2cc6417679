// The lab's private Sigstore, and a registry with the referrers API.
//
// Tests of signature verification need signatures that no public service would issue: bundles with
// exactly one flaw. This program creates them with new keys and the current time, so none is
// committed. It reads and writes JSON on its standard streams; `lab::signing` is its only caller.
//
// It implements the formats without Sigstore's own libraries. cosign, which is built from those,
// checks in the tests that the good signatures are good.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

const usage = `usage:
  sigstore registry ADDRESS        serve an in-memory registry with the referrers API
  sigstore create                  create an authority; JSON to standard output
  sigstore issue AUTHORITY-FILE    create keyless signatures for the request on standard input
  sigstore keys ALGORITHM...       generate key pairs; PEM in JSON
  sigstore sign [AUTHORITY-FILE]   sign the request on standard input with its key
  sigstore regexps                 match the (pattern, text) pairs on standard input`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sigstore:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no command given\n%s", usage)
	}
	verb, rest := args[0], args[1:]
	switch {
	case verb == "registry" && len(rest) == 1:
		return serveRegistry(rest[0])
	case verb == "create" && len(rest) == 0:
		return writeOutput(create(time.Now()))
	case verb == "issue" && len(rest) == 1:
		return issue(rest[0], time.Now())
	case verb == "keys" && len(rest) > 0:
		return writeOutput(makeKeys(rest))
	case verb == "sign" && len(rest) <= 1:
		return sign(rest, time.Now())
	case verb == "regexps" && len(rest) == 0:
		return matchRegexps()
	}
	return fmt.Errorf("unknown command %q\n%s", args, usage)
}

// readInput parses the JSON on standard input; an unknown field is an error of the caller.
func readInput[T any]() (T, error) {
	var request T
	decoder := json.NewDecoder(os.Stdin)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil && err != io.EOF {
		return request, fmt.Errorf("cannot read the request: %w", err)
	}
	return request, nil
}

func writeOutput(value any, err error) error {
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(value)
}
