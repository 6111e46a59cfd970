// Pins what is built here; see parts.ts. The build tag keeps it out of every ordinary build.

//go:build parts

package parts

import (
	_ "github.com/distribution/distribution/v3/cmd/registry"
)
