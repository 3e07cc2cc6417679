// Matches patterns with Go's regexp package, as cosign does for identities. Tests compare our own
// matching with it.
package main

import "regexp"

type pair struct {
	Pattern string `json:"pattern"`
	Text    string `json:"text"`
}

type regexpResult struct {
	Valid   bool   `json:"valid"`
	Matches bool   `json:"matches"`
	Error   string `json:"error"`
}

func matchRegexps() error {
	pairs, err := readInput[[]pair]()
	if err != nil {
		return err
	}
	results := make([]regexpResult, 0, len(pairs))
	for _, pair := range pairs {
		expression, err := regexp.Compile(pair.Pattern)
		if err != nil {
			results = append(results, regexpResult{Error: err.Error()})
			continue
		}
		results = append(results, regexpResult{Valid: true, Matches: expression.MatchString(pair.Text)})
	}
	return writeOutput(results, nil)
}
