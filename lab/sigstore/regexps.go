// What Go's regexp makes of a pattern and a text. cosign matches identities with it, so whoever
// promises the same answers must ask it.
package main

import "regexp"

type pair struct {
	Pattern string `json:"pattern"`
	Text    string `json:"text"`
}

type judgement struct {
	Valid   bool   `json:"valid"`
	Matches bool   `json:"matches"`
	Error   string `json:"error"`
}

func judgeRegexps() error {
	pairs, err := question[[]pair]()
	if err != nil {
		return err
	}
	judgements := make([]judgement, 0, len(pairs))
	for _, pair := range pairs {
		expression, err := regexp.Compile(pair.Pattern)
		if err != nil {
			judgements = append(judgements, judgement{Error: err.Error()})
			continue
		}
		judgements = append(judgements, judgement{Valid: true, Matches: expression.MatchString(pair.Text)})
	}
	return answer(judgements, nil)
}
