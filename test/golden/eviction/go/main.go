//go:build eviction

// Reads questions from the standard input, one per line, and writes the Go kubelet's answer to each. A question is
// a table of pods or a sequence of measurements.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/kubernetes/pkg/kubelet/eviction"
)

type question struct {
	Table    *eviction.GoldenTable    `json:"table"`
	Sequence *eviction.GoldenSequence `json:"sequence"`
}

func main() {
	if err := answer(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answer(from io.Reader, to io.Writer) error {
	questions := json.NewDecoder(bufio.NewReader(from))
	answers := json.NewEncoder(to)
	answers.SetEscapeHTML(false)
	for questions.More() {
		var asked question
		if err := questions.Decode(&asked); err != nil {
			return err
		}
		answer, err := answerOf(asked)
		if err != nil {
			return err
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return nil
}

func answerOf(asked question) (any, error) {
	if asked.Sequence != nil {
		return eviction.GoldenRounds(*asked.Sequence)
	}
	return eviction.Golden(*asked.Table)
}
