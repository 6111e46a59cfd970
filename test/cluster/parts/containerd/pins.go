// Pins what is built here; see parts.ts. The build tag keeps it out of every ordinary build.

//go:build parts

package parts

import (
	_ "github.com/containerd/containerd/v2/cmd/containerd"
	_ "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"
	_ "github.com/containerd/containerd/v2/cmd/ctr"
)
