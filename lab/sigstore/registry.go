// A registry with the referrers API, which Debian's docker-registry 2.8 does not have. It forgets
// everything when it ends.
package main

import (
	"io"
	"log"
	"net/http"

	"github.com/google/go-containerregistry/pkg/registry"
)

func serveRegistry(address string) error {
	// It would write a line a request, and measurements run through here.
	quiet := registry.Logger(log.New(io.Discard, "", 0))
	return http.ListenAndServe(address, registry.New(quiet, registry.WithReferrersSupport(true)))
}
