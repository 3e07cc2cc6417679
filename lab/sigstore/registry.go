// An in-memory registry with the referrers API, which Debian's docker-registry 2.8 does not have.
package main

import (
	"io"
	"log"
	"net/http"

	"github.com/google/go-containerregistry/pkg/registry"
)

func serveRegistry(address string) error {
	// No log line per request: measurements go through here.
	quiet := registry.Logger(log.New(io.Discard, "", 0))
	return http.ListenAndServe(address, registry.New(quiet, registry.WithReferrersSupport(true)))
}
