//go:build eviction

// Reads tables from the standard input, one per line, and writes the Go kubelet's answer to each.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/kubernetes/pkg/kubelet/eviction"
)

func main() {
	if err := answer(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answer(from io.Reader, to io.Writer) error {
	tables := json.NewDecoder(bufio.NewReader(from))
	answers := json.NewEncoder(to)
	answers.SetEscapeHTML(false)
	for tables.More() {
		var table eviction.GoldenTable
		if err := tables.Decode(&table); err != nil {
			return err
		}
		answer, err := eviction.Golden(table)
		if err != nil {
			return err
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return nil
}
