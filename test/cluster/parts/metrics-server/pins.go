// Pins what is built here; see parts.ts. The build tag keeps it out of every ordinary build.

//go:build parts

package parts

import (
	_ "sigs.k8s.io/metrics-server/cmd/metrics-server"
)
