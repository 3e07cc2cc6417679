// The lab's own Sigstore, and the registry that Debian's cannot stand in for.
//
// Tests of signature verification need material that no public service would ever issue: bundles
// with exactly one flaw. This program makes it, with keys and a clock of the moment, so nothing of
// it is committed. It speaks JSON on its standard streams; `lab::signing` is its only caller.
//
// Everything here is written against the formats, not with Sigstore's own libraries: cosign, which
// is built from those, is the judge of whether it came out right.
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
  sigstore found                   make an authority; JSON to standard output
  sigstore issue AUTHORITY-FILE    keyless material for the request on standard input
  sigstore keys ALGORITHM...       key pairs as PEM
  sigstore sign [AUTHORITY-FILE]   sign the request on standard input with its key
  sigstore regexps                 judge the (pattern, text) pairs on standard input`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sigstore:", err)
		os.Exit(1)
	}
}

func run(words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("nothing to do\n%s", usage)
	}
	verb, rest := words[0], words[1:]
	switch {
	case verb == "registry" && len(rest) == 1:
		return serveRegistry(rest[0])
	case verb == "found" && len(rest) == 0:
		return answer(found(time.Now()))
	case verb == "issue" && len(rest) == 1:
		return issue(rest[0], time.Now())
	case verb == "keys" && len(rest) > 0:
		return answer(makeKeys(rest))
	case verb == "sign" && len(rest) <= 1:
		return sign(rest, time.Now())
	case verb == "regexps" && len(rest) == 0:
		return judgeRegexps()
	}
	return fmt.Errorf("cannot %q\n%s", words, usage)
}

// question reads a request; a field that nobody knows is a mistake of the caller.
func question[T any]() (T, error) {
	var asked T
	decoder := json.NewDecoder(os.Stdin)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&asked); err != nil && err != io.EOF {
		return asked, fmt.Errorf("cannot read the request: %w", err)
	}
	return asked, nil
}

func answer(value any, err error) error {
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(value)
}
