module schedkit/lab/sigstore

go 1.26.0

require (
	github.com/digitorus/timestamp v0.0.0-20231217203849-220c5c2851b7
	github.com/google/go-containerregistry v0.21.7
)

require github.com/digitorus/pkcs7 v0.0.0-20230713084857-e76b763bdc49 // indirect
